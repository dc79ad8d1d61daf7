package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
)

// The layout of a plot, in pixels.
const (
	plotWidth  = 760
	plotMargin = 16
	labelWidth = 170
	figureRoom = 60 // right of the longest bar
	titleStep  = 34
	workStep   = 24
	barStep    = 19
	barHeight  = 13
)

// A panel has bars of one scale, grouped by what is sent.
type panel struct {
	title  string
	mode   string
	figure func(*transferResult) *summary
}

var panels = []panel{
	{"One way, MB/s", "sink", func(r *transferResult) *summary { return r.MBps }},
	{"Echo, MB/s", "echo", func(r *transferResult) *summary { return r.MBps }},
	{"Ping while another session is saturated, p99 in ms (less is better)", "ping",
		func(r *transferResult) *summary { return r.PingP99 }},
}

// plot returns SVG: a bar for each median, and a line over it from the least to the most.
func (r *transferReport) plot() []byte {
	var body bytes.Buffer
	y := plotMargin
	for _, p := range panels {
		var rows []*transferResult
		for _, result := range r.Results {
			if result.mode == p.mode && p.figure(result) != nil {
				rows = append(rows, result)
			}
		}
		if len(rows) > 0 {
			y = p.draw(&body, rows, y)
		}
	}
	y += workStep
	text(&body, "where", plotMargin, y,
		fmt.Sprintf("%s; %s. Medians of %d rounds, least to most.", r.Machine, r.source(), r.Rounds))
	y += plotMargin

	var svg bytes.Buffer
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"
 font-family="sans-serif" font-size="12">
<style>
.title{font-size:15px;font-weight:bold}
.work{font-weight:bold}
.where{fill:#666;font-size:11px}
.peers,.figure{fill:#333}
.peers{text-anchor:end}
.kcp4j{fill:#2a7de1}
.other{fill:#a9b4c2}
.range{stroke:#222}
</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`, plotWidth, y)
	svg.Write(body.Bytes())
	svg.WriteString("</svg>\n")
	return svg.Bytes()
}

// draw returns where the next panel begins.
func (p panel) draw(svg *bytes.Buffer, rows []*transferResult, y int) int {
	most := slices.MaxFunc(rows, func(a, b *transferResult) int {
		return cmp.Compare(p.figure(a).Most, p.figure(b).Most)
	})
	left := plotMargin + labelWidth
	perUnit := float64(plotWidth-plotMargin-figureRoom-left) / p.figure(most).Most
	y += titleStep
	text(svg, "title", plotMargin, y-10, p.title)
	work := ""
	for _, r := range rows {
		if r.Work != work {
			work = r.Work
			y += workStep
			text(svg, "work", plotMargin, y-7, work)
		}
		s := p.figure(r)
		x := func(figure float64) float64 { return float64(left) + figure*perUnit }
		text(svg, "peers", left-8, y+11, r.Peers)
		fmt.Fprintf(svg, `<rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`+"\n",
			barClass(r), left, y, s.Median*perUnit, barHeight)
		fmt.Fprintf(svg, `<path class="range" d="M%.1f %dH%.1f"/>`+"\n",
			x(s.Least), y+barHeight/2, x(s.Most))
		text(svg, "figure", int(x(s.Most))+6, y+11, threeDigits(s.Median))
		y += barStep
	}
	return y
}

func barClass(r *transferResult) string {
	if r.client.protocol == kcpOfJava || r.server.protocol == kcpOfJava {
		return "kcp4j"
	}
	return "other"
}

func text(svg *bytes.Buffer, class string, x, y int, s string) {
	fmt.Fprintf(svg, `<text class="%s" x="%d" y="%d">`, class, x, y)
	xml.EscapeText(svg, []byte(s))
	svg.WriteString("</text>\n")
}
