// SPDX-License-Identifier: Apache-2.0

// Command plot draws how pods shared a GPU, from what their programs printed
// (tenant of test/gpusim). It reads the pods' logs with times, as
// `kubectl logs --timestamps` prints them:
//
//	plot [--title T] [--note N] [--mark TIME=TEXT]… NAME:PERCENT=FILE… > picture.svg
//
// TIME is of RFC 3339. The picture begins at the first mark.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"aipub.io/aipub/test/kit/plot"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plot:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var c plot.Chart
	var marks []string
	f := pflag.NewFlagSet("plot", pflag.ContinueOnError)
	f.StringVar(&c.Title, "title", "", "title")
	f.StringVar(&c.Note, "note", "", "line below the title")
	f.StringArrayVar(&marks, "mark", nil, "TIME=TEXT")
	if err := f.Parse(args); err != nil {
		return err
	}
	if len(marks) == 0 || f.NArg() == 0 {
		return fmt.Errorf("give at least one --mark and one NAME:PERCENT=FILE")
	}
	var origin time.Time
	for i, m := range marks {
		stamp, text, _ := strings.Cut(m, "=")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			return fmt.Errorf("--mark %s: %w", m, err)
		}
		if i == 0 {
			origin = at
		}
		c.Marks = append(c.Marks, plot.Mark{At: at.Sub(origin).Seconds(), Text: text})
	}
	for _, arg := range f.Args() {
		name, file, _ := strings.Cut(arg, "=")
		name, percent, _ := strings.Cut(name, ":")
		guaranteed, err := strconv.ParseFloat(percent, 64)
		if err != nil {
			return fmt.Errorf("argument %s: %w", arg, err)
		}
		s := plot.Series{Name: name, Guaranteed: guaranteed}
		if s.Points, err = read(file, origin); err != nil {
			return err
		}
		c.Series = append(c.Series, s)
		c.Seconds = max(c.Seconds, s.Points[len(s.Points)-1].At)
	}
	return c.Write(os.Stdout)
}

// read turns a log into points. A line's third number is the GPU time of its
// window in microseconds; the window is the time since the line before.
func read(file string, origin time.Time) (points []plot.Point, err error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	before := -1.
	for s := bufio.NewScanner(in); s.Scan(); {
		stamp, rest, _ := strings.Cut(s.Text(), " ")
		heard, err := time.Parse(time.RFC3339Nano, stamp)
		fields := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' })
		if err != nil || len(fields) < 5 {
			continue
		}
		at, err1 := strconv.ParseFloat(fields[0], 64)
		us, err2 := strconv.ParseFloat(fields[2], 64)
		if err1 != nil || err2 != nil {
			continue // the head
		}
		if before >= 0 && at > before {
			points = append(points, plot.Point{At: heard.Sub(origin).Seconds(), Percent: us / 1e4 / (at - before)})
		}
		before = at
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("read %s: no line of a tenant in it", file)
	}
	return points, nil
}
