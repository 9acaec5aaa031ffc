// SPDX-License-Identifier: Apache-2.0

package reclaim

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	api "aipub.io/aipub/api/v1alpha1"
)

func TestQuietHoursEnd(t *testing.T) {
	night := api.QuietHours{From: "22:00", To: "06:00", TimeZone: "Asia/Seoul"}
	tests := []struct {
		name    string
		hours   []api.QuietHours
		at, end string
	}{
		{"none", nil, "2026-11-18T12:00:00Z", ""},
		{"before", []api.QuietHours{{From: "12:01", To: "13:00"}}, "2026-11-18T12:00:59Z", ""},
		{"at its begin", []api.QuietHours{{From: "12:00", To: "13:00"}}, "2026-11-18T12:00:00Z", "2026-11-18T13:00:00Z"},
		{"at its end", []api.QuietHours{{From: "12:00", To: "13:00"}}, "2026-11-18T13:00:00Z", ""},
		{"past midnight", []api.QuietHours{{From: "22:00", To: "06:00"}}, "2026-11-18T03:00:00Z", "2026-11-18T06:00:00Z"},
		{"in Seoul, in the evening", []api.QuietHours{night}, "2026-11-18T13:00:00Z", "2026-11-18T21:00:00Z"},
		{"in Seoul, at noon", []api.QuietHours{night}, "2026-11-18T03:00:00Z", ""},
		{"to the end of the day", []api.QuietHours{{From: "22:00", To: "00:00"}}, "2026-11-18T23:59:59Z", "2026-11-19T00:00:00Z"},
		{"a whole day", []api.QuietHours{{From: "00:00", To: "00:00", Days: []api.Weekday{"Wed"}}}, "2026-11-18T12:00:00Z", "2026-11-19T00:00:00Z"},
		{"the night of Tuesday", []api.QuietHours{{From: "22:00", To: "06:00", Days: []api.Weekday{"Tue"}}}, "2026-11-18T03:00:00Z", "2026-11-18T06:00:00Z"},
		{"not the night of Wednesday", []api.QuietHours{{From: "22:00", To: "06:00", Days: []api.Weekday{"Wed"}}}, "2026-11-18T03:00:00Z", ""},
		{"the day of where it is", []api.QuietHours{{From: "06:00", To: "08:00", Days: []api.Weekday{"Thu"}, TimeZone: "Asia/Seoul"}}, "2026-11-18T22:00:00Z", "2026-11-18T23:00:00Z"},
		{"two that meet", []api.QuietHours{{From: "12:00", To: "13:00"}, {From: "13:00", To: "14:00"}}, "2026-11-18T12:30:00Z", "2026-11-18T14:00:00Z"},
		{"two that overlap, in two zones", []api.QuietHours{night, {From: "20:00", To: "23:00"}}, "2026-11-18T13:00:00Z", "2026-11-18T23:00:00Z"},
		{"a weekend", []api.QuietHours{{From: "00:00", To: "00:00", Days: []api.Weekday{"Sat", "Sun"}}}, "2026-11-21T05:00:00Z", "2026-11-23T00:00:00Z"},
		{"always", []api.QuietHours{{From: "00:00", To: "00:00"}}, "2026-11-18T12:00:00Z", "2026-11-26T12:00:00Z"},
		// Berlin, 29 March 2026: 02:00 becomes 03:00, which is 01:00 UTC.
		{"an end that is skipped", []api.QuietHours{{From: "00:00", To: "02:30", TimeZone: "Europe/Berlin"}}, "2026-03-29T00:00:00Z", "2026-03-29T01:00:00Z"},
		{"a begin that is skipped", []api.QuietHours{{From: "02:30", To: "04:00", TimeZone: "Europe/Berlin"}}, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z"},
		{"before a begin that is skipped", []api.QuietHours{{From: "02:30", To: "04:00", TimeZone: "Europe/Berlin"}}, "2026-03-29T00:59:00Z", ""},
		{"all of it skipped", []api.QuietHours{{From: "02:15", To: "02:45", TimeZone: "Europe/Berlin"}}, "2026-03-29T01:00:00Z", ""},
		// 25 October 2026: 03:00 becomes 02:00, at 01:00 UTC; 02:30 comes twice.
		{"an end that comes twice", []api.QuietHours{{From: "00:00", To: "02:30", TimeZone: "Europe/Berlin"}}, "2026-10-25T00:45:00Z", "2026-10-25T01:30:00Z"},
		{"a begin that comes twice", []api.QuietHours{{From: "02:30", To: "04:00", TimeZone: "Europe/Berlin"}}, "2026-10-25T00:30:00Z", "2026-10-25T03:00:00Z"},
		{"a night of 25 hours' day", []api.QuietHours{{From: "22:00", To: "06:00", TimeZone: "Europe/Berlin"}}, "2026-10-24T21:00:00Z", "2026-10-25T05:00:00Z"},
		// New York, 1 November 2026: 02:00 becomes 01:00, at 06:00 UTC.
		{"an end that comes twice, west of Greenwich", []api.QuietHours{{From: "00:00", To: "01:30", TimeZone: "America/New_York"}}, "2026-11-01T05:00:00Z", "2026-11-01T06:30:00Z"},
		{"a begin that comes twice, west of Greenwich", []api.QuietHours{{From: "01:30", To: "04:00", TimeZone: "America/New_York"}}, "2026-11-01T05:30:00Z", "2026-11-01T09:00:00Z"},
		// Samoa had no 30 December 2011; the night goes on from the 29th to the 31st.
		{"a day that is skipped", []api.QuietHours{{From: "22:00", To: "06:00", TimeZone: "Pacific/Apia"}}, "2011-12-30T09:00:00Z", "2011-12-30T16:00:00Z"},
	}
	for _, x := range tests {
		t.Run(x.name, func(t *testing.T) {
			at := moment(t, x.at)
			want := at
			if x.end != "" {
				want = moment(t, x.end)
			}
			got, err := Quiet(x.hours, at)
			if err != nil || !got.Equal(want) {
				t.Errorf("end %v, %v, want %v", got, err, want)
			}
		})
	}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestQuietHoursThatCannotBeRead(t *testing.T) {
	for want, h := range map[string]api.QuietHours{
		`quietHours[0].timeZone: "Asia/Soul" is no time zone`: {From: "22:00", To: "06:00", TimeZone: "Asia/Soul"},
		`quietHours[0].timeZone: "Local" is no time zone`:     {From: "22:00", To: "06:00", TimeZone: "Local"},
		`quietHours[0].from: "24:00" is no time of day`:       {From: "24:00", To: "06:00"},
		`quietHours[0].from: "9:00" is no time of day`:        {From: "9:00", To: "06:00"},
		`quietHours[0].to: "" is no time of day`:              {From: "22:00"},
		`quietHours[0].days: "Monday" is no day`:              {From: "22:00", To: "06:00", Days: []api.Weekday{"Monday"}},
	} {
		if _, err := Quiet([]api.QuietHours{h}, noon); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// shownQuiet says whether the clocks on the wall show a quiet minute. Where a zone
// changes its clocks it is not the same, so it is asked of other days only.
func shownQuiet(t *testing.T, hours []api.QuietHours, at time.Time) bool {
	for _, h := range hours {
		zone, err := time.LoadLocation(h.TimeZone)
		if err != nil {
			t.Fatal(err)
		}
		local := at.In(zone)
		shown := local.Format("15:04")
		on := func(d time.Time) bool {
			return len(h.Days) == 0 || slices.Contains(h.Days, api.Weekday(d.Format("Mon")))
		}
		late := shown >= h.From && on(local)
		early := shown < h.To && on(local.AddDate(0, 0, -1))
		if h.From < h.To && late && shown < h.To || h.From >= h.To && (late || early) {
			return true
		}
	}
	return false
}

func TestQuietHoursEndAsTheClocksShow(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	runs := 400
	if testing.Short() {
		runs = 60
	}
	for range runs {
		var hs []api.QuietHours
		for range 1 + random.IntN(4) {
			h := api.QuietHours{
				From: clockText(random.IntN(1440)), To: clockText(random.IntN(1440)),
				TimeZone: choose(random, "", "Asia/Seoul", "Asia/Kolkata", "America/New_York", "Pacific/Kiritimati"),
			}
			for _, d := range []api.Weekday{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
				if random.IntN(2) == 0 {
					h.Days = append(h.Days, d)
				}
			}
			hs = append(hs, h)
		}
		at := noon.Add(time.Duration(random.IntN(7*1440)) * time.Minute)
		want := at
		for shownQuiet(t, hs, want) && want.Sub(at) < quietMost {
			want = want.Add(time.Minute)
		}
		got, err := Quiet(hs, at)
		if err != nil || !got.Equal(want) {
			t.Fatalf("%+v at %v: end %v, %v, want %v", hs, at, got, err, want)
		}
	}
}

func clockText(minute int) string {
	return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC).Format("15:04")
}

func FuzzQuiet(f *testing.F) {
	f.Add("22:00", "06:00", "Europe/Berlin", uint8(127), "02:15", "02:45", "", uint8(3), int64(1_774_745_100), uint16(60))
	f.Add("00:00", "00:00", "America/New_York", uint8(0), "23:59", "00:01", "Pacific/Apia", uint8(0), int64(1_325_239_200), uint16(1))
	f.Add("01:30", "01:30", "Australia/Lord_Howe", uint8(64), "02:00", "01:59", "Africa/Casablanca", uint8(0), int64(1_775_314_800), uint16(900))
	f.Fuzz(func(t *testing.T, from1, to1, zone1 string, days1 uint8, from2, to2, zone2 string, days2 uint8, unix int64, minutes uint16) {
		hs := []api.QuietHours{{From: from1, To: to1, TimeZone: zone1, Days: daysOf(days1)}, {From: from2, To: to2, TimeZone: zone2, Days: daysOf(days2)}}
		at := time.Unix(unix%(1<<33), 0)
		end, err := Quiet(hs, at)
		if err != nil {
			return
		}
		if end.Before(at) || end.Sub(at) > quietMost {
			t.Fatalf("the end of %v is %v", at, end)
		}
		endless := end.Sub(at) == quietMost
		if again, err := Quiet(hs, end); err != nil || !endless && !again.Equal(end) {
			t.Fatalf("it ends at %v and is quiet then, until %v, %v", end, again, err)
		}
		for _, one := range hs {
			if alone, err := Quiet([]api.QuietHours{one}, at); err != nil || alone.After(end) {
				t.Fatalf("one of them ends at %v, after %v, %v", alone, end, err)
			}
		}
		// Between the two it is quiet all the time, with the same end.
		between := at.Add(time.Duration(minutes) * time.Minute)
		if inner, err := Quiet(hs, between); err != nil || between.Before(end) && !endless && !inner.Equal(end) {
			t.Fatalf("at %v it ends at %v, at %v at %v, %v", at, end, between, inner, err)
		}
	})
}

func daysOf(bits uint8) []api.Weekday {
	var days []api.Weekday
	for i, d := range []api.Weekday{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
		if bits&(1<<i) != 0 {
			days = append(days, d)
		}
	}
	return days
}
