// SPDX-License-Identifier: Apache-2.0

// Package plot draws how a GPU's time was shared, as SVG.
package plot

import (
	"fmt"
	"html"
	"io"
	"strings"
)

// Point is the part of the GPU's time in the window that ends At seconds.
type Point struct{ At, Percent float64 }

// Series is one tenant.
type Series struct {
	Name   string
	Points []Point
	// Guaranteed is drawn as a dashed line.
	Guaranteed float64
}

// Mark is a moment with a name.
type Mark struct {
	At   float64
	Text string
}

// Chart is a whole picture. Seconds is the length of its time axis.
type Chart struct {
	Title, Note string
	Seconds     float64
	Series      []Series
	Marks       []Mark
}

const (
	width, height         = 960, 420
	left, right, top, low = 70, 20, 70, 60
)

var colours = []string{"#0b63c4", "#d1570a", "#2c8a4b", "#8a3fa0"}

func (c Chart) x(seconds float64) float64 {
	return left + seconds/c.Seconds*(width-left-right)
}

func y(percent float64) float64 {
	return height - low - percent/100*(height-top-low)
}

// Write writes the picture.
func (c Chart) Write(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text := func(x, y float64, anchor, more, s string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`+"\n", x, y, anchor, more, html.EscapeString(s))
	}
	text(left, 24, "start", `font-size="17" font-weight="bold"`, c.Title)
	text(left, 44, "start", `fill="#555"`, c.Note)
	for p := 0.; p <= 100; p += 25 {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, width-right, y(p), y(p))
		text(left-8, y(p)+4, "end", "", fmt.Sprintf("%.0f %%", p))
	}
	step := max(1, float64(int(c.Seconds/12)))
	for s := 0.; s <= c.Seconds; s += step {
		text(c.x(s), height-low+20, "middle", "", fmt.Sprintf("%.0f s", s))
	}
	for _, m := range c.Marks {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#999" stroke-dasharray="2 3"/>`+"\n", c.x(m.At), c.x(m.At), top-8, height-low)
		text(c.x(m.At)+4, top-2, "start", `fill="#555" font-size="12"`, m.Text)
	}
	for i, s := range c.Series {
		c.draw(&b, s, colours[i%len(colours)])
		text(left+float64(i)*300, height-14, "start", fmt.Sprintf(`fill="%s" font-weight="bold"`, colours[i%len(colours)]),
			fmt.Sprintf("%s (guaranteed %.0f %%)", s.Name, s.Guaranteed))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Chart) draw(b *strings.Builder, s Series, colour string) {
	fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s" stroke-dasharray="6 5" opacity="0.5"/>`+"\n",
		left, width-right, y(s.Guaranteed), y(s.Guaranteed), colour)
	var points []string
	for _, p := range s.Points {
		if p.At >= 0 && p.At <= c.Seconds {
			points = append(points, fmt.Sprintf("%.1f,%.1f", c.x(p.At), y(min(p.Percent, 100))))
		}
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), colour)
}
