// SPDX-License-Identifier: Apache-2.0

package sharer

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"
)

func TestARecordReplaysToTheSameActions(t *testing.T) {
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	r := rand.New(rand.NewPCG(5, 0))
	w := newWatcher(t, Config{Record: func(e Entry) {
		if err := out.Encode(e); err != nil {
			t.Fatal(err)
		}
	}})
	w.set(randomTenants(r, 3, 6))
	for range 3000 {
		w.step(r)
	}

	var record []Entry
	for in := json.NewDecoder(&lines); in.More(); {
		var e Entry
		if err := in.Decode(&e); err != nil {
			t.Fatal(err)
		}
		record = append(record, e)
	}
	if len(record) < 3000 {
		t.Fatalf("%d entries on record, want at least as many as events, 3000", len(record))
	}
	if err := Replay(Config{}, record); err != nil {
		t.Error(err)
	}
	for i := range record {
		if len(record[i].Actions) > 0 {
			record[i].Actions[0].Until++
			break
		}
	}
	if err := Replay(Config{}, record); err == nil {
		t.Error("a record with another answer replays without an error")
	}
}
