package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

// The layout of a latency plot, in pixels.
const (
	chartWidth  = 760
	chartHeight = 430
	chartLeft   = 70
	chartRight  = 540 // the legend is right of it
	chartTop    = 62
	chartBottom = 360
	legendStep  = 20
	legendLine  = 22
	axisMargin  = 1.3 // beyond the values, on an axis with given ticks
)

// writePlots writes a file for each plot. Variants with loss in one direction would look better
// than the others beside them, and are left out.
func (r *latencyReport) writePlots(prefix string) error {
	cells := slices.DeleteFunc(r.cells(),
		func(c *latencyCell) bool { return len(c.runs) == 0 || c.variant.oneWay })
	variants := slices.DeleteFunc(slices.Clone(r.variants),
		func(v *latencyVariant) bool { return v.oneWay })
	var errs []error
	write := func(name string, c *chart) {
		c.fit()
		c.styles = lineStyles(variants)
		errs = append(errs, os.WriteFile(prefix+name+".svg", c.svg(r.caption()), 0o644))
	}
	for _, loss := range r.losses() {
		at := slices.DeleteFunc(slices.Clone(cells),
			func(c *latencyCell) bool { return c.loss != loss })
		if len(at) > 0 {
			write(fmt.Sprintf("-distribution-%v", loss), distribution(at, loss))
			write(fmt.Sprintf("-bytes-%v", loss), r.latencyAgainstBytes(at, loss))
		}
	}
	// No loss has no place on a logarithmic axis.
	lossy := slices.DeleteFunc(cells, func(c *latencyCell) bool { return c.loss == 0 })
	if len(lossy) > 0 {
		losses := slices.DeleteFunc(r.losses(), func(loss float64) bool { return loss == 0 })
		write("-loss", r.tailAgainstLoss(lossy, losses))
	}
	return errors.Join(errs...)
}

func (r *latencyReport) caption() string {
	first := r.Runs[0]
	return fmt.Sprintf("%s; %s. %s; %v + at most %v each way.",
		r.Machine, r.source(), r.Traffic, first.Delay, first.Jitter)
}

// distribution plots which fraction of the messages of all runs took longer.
func distribution(cells []*latencyCell, loss float64) *chart {
	c := &chart{
		title: fmt.Sprintf("Round trips that take longer, at %v %% loss", loss),
		x:     axis{label: "ms"}, y: axis{label: "% of the messages"},
	}
	for _, cell := range cells {
		var all []*roundTrips
		for _, run := range cell.runs {
			all = append(all, run.Echoes)
		}
		c.series = append(c.series, series{variant: cell.variant, points: tail(merge(all))})
	}
	return c
}

// tail returns the steps of 1 - CDF, in percent.
func tail(r *roundTrips) []point {
	var points []point
	percent := func(messages int64) float64 { return 100 * float64(messages) / float64(r.Messages) }
	longer := r.Messages
	for _, bin := range r.Bins {
		ms := float64(bin[0]) * binUs / 1000
		points = append(points, point{ms, percent(longer)})
		if longer -= bin[1]; longer > 0 {
			points = append(points, point{ms, percent(longer)})
		}
	}
	return points
}

// tailAgainstLoss plots the worst ratio of p99.8 to the median.
func (r *latencyReport) tailAgainstLoss(cells []*latencyCell, losses []float64) *chart {
	c := &chart{
		title: "p99.8 of the round trips, times the median (less is better)",
		x:     axis{label: "loss, %", ticks: losses}, y: axis{label: "p99.8 / median"}, marks: true,
	}
	for _, v := range r.variants {
		s := series{variant: v}
		for _, cell := range cells {
			if cell.variant == v {
				s.points = append(s.points, point{cell.loss, cell.worst(tailRatio)})
			}
		}
		if s.points != nil {
			c.series = append(c.series, s)
		}
	}
	return c
}

func tailRatio(r *latencyRun) float64 {
	return r.Echoes.percentileMs(99.8) / r.Echoes.percentileMs(50)
}

// latencyAgainstBytes plots the worst p99.8 over the bytes that it costs.
func (r *latencyReport) latencyAgainstBytes(cells []*latencyCell, loss float64) *chart {
	c := &chart{
		title: fmt.Sprintf("Latency and its price in bytes, at %v %% loss (less is better)", loss),
		x:     axis{label: "bytes sent by the client, times payload"},
		y:     axis{label: "p99.8, ms"}, marks: true,
	}
	for _, cell := range cells {
		at := point{cell.worst(r.timesPayloadUp), cell.worst(percentileOf(99.8))}
		c.series = append(c.series, series{variant: cell.variant, points: []point{at}})
	}
	return c
}

type point struct{ x, y float64 }

// A series is a line of a chart, or a mark if it has one point.
type series struct {
	variant *latencyVariant
	points  []point
}

// A chart has two logarithmic axes.
type chart struct {
	title  string
	x, y   axis
	series []series
	marks  bool // at each point
	styles map[*latencyVariant]lineStyle
}

// fit extends the axes to all points.
func (c *chart) fit() {
	var xs, ys []float64
	for _, s := range c.series {
		for _, p := range s.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	c.x.fit(xs, chartLeft, chartRight)
	c.y.fit(ys, chartBottom, chartTop)
}

// An axis maps values to pixels, logarithmically.
type axis struct {
	label       string
	least, most float64
	from, to    float64   // pixels
	ticks       []float64 // labelled
}

// fit chooses ticks, unless there are some, and extends the axis to them and to the values.
func (a *axis) fit(values []float64, from, to float64) {
	a.from, a.to = from, to
	if a.ticks != nil {
		a.least, a.most = slices.Min(values)/axisMargin, slices.Max(values)*axisMargin
		return
	}
	a.ticks = ticksAround(slices.Min(values), slices.Max(values))
	a.least, a.most = a.ticks[0], a.ticks[len(a.ticks)-1]
}

func (a *axis) at(value float64) float64 {
	return a.from + (a.to-a.from)*math.Log(value/a.least)/math.Log(a.most/a.least)
}

// ticksAround returns at least two ticks: those between least and most, the last one not above
// least, and the first one not below most. They are powers of ten over long ranges.
func ticksAround(least, most float64) []float64 {
	var steps []float64
	switch ratio := most / least; {
	case ratio > 200:
		steps = []float64{1}
	case ratio > 10:
		steps = []float64{1, 2, 5}
	case ratio > 4:
		steps = []float64{1, 1.5, 2, 3, 5, 7}
	case ratio > 1.5:
		steps = []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8}
	default:
		steps = []float64{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 5, 6, 8}
	}
	var ticks []float64
	for exponent := math.Floor(math.Log10(least)) - 1; ; exponent++ {
		for _, step := range steps {
			tick := step * math.Pow(10, exponent)
			if tick <= least*(1+1e-9) {
				ticks = ticks[:0]
			}
			ticks = append(ticks, tick)
			if tick >= most*(1-1e-9) && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// svg draws the chart, and the caption below it.
func (c *chart) svg(caption string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"
 font-family="sans-serif" font-size="12">
<style>
.title{font-size:15px;font-weight:bold}
.where{fill:#666;font-size:11px}
.x{text-anchor:middle}
.y{text-anchor:end}
.grid{stroke:#e3e6ea}
polyline{fill:none;stroke-width:1.7}
</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`, chartWidth, chartHeight)
	text(&out, "title", plotMargin, 26, c.title)
	c.drawGrid(&out)
	for i, s := range c.series {
		c.drawSeries(&out, s, c.styles[s.variant], chartTop+8+i*legendStep)
	}
	text(&out, "where", plotMargin, chartHeight-14, caption)
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (c *chart) drawGrid(out *bytes.Buffer) {
	for _, tick := range c.x.ticks {
		x := c.x.at(tick)
		fmt.Fprintf(out, `<path class="grid" d="M%.1f %dV%d"/>`+"\n", x, chartTop, chartBottom)
		text(out, "x", int(x), chartBottom+17, tickLabel(tick))
	}
	for _, tick := range c.y.ticks {
		y := c.y.at(tick)
		fmt.Fprintf(out, `<path class="grid" d="M%d %.1fH%d"/>`+"\n", chartLeft, y, chartRight)
		text(out, "y", chartLeft-7, int(y)+4, tickLabel(tick))
	}
	text(out, "x", (chartLeft+chartRight)/2, chartBottom+35, c.x.label)
	text(out, "", plotMargin, chartTop-14, c.y.label)
}

func tickLabel(tick float64) string {
	return fmt.Sprintf("%.4g", tick)
}

// drawSeries draws a line through the points, or a mark at each, and a line of the legend.
func (c *chart) drawSeries(out *bytes.Buffer, s series, style lineStyle, legendY int) {
	if len(s.points) > 1 {
		fmt.Fprintf(out, `<polyline stroke="%s" stroke-dasharray="%s" points="`,
			style.color, style.dashes)
		for _, p := range thinned(c, s.points) {
			fmt.Fprintf(out, "%.1f,%.1f ", c.x.at(p.x), c.y.at(p.y))
		}
		out.WriteString("\"/>\n")
	}
	if c.marks {
		for _, p := range s.points {
			fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="4.5" fill="%s"/>`+"\n",
				c.x.at(p.x), c.y.at(p.y), style.color)
		}
	}
	fmt.Fprintf(out, `<path d="M%d %dh%d" stroke="%s" stroke-width="3" stroke-dasharray="%s"/>`+"\n",
		chartRight+12, legendY, legendLine, style.color, style.dashes)
	text(out, "", chartRight+12+legendLine+6, legendY+4, s.variant.name())
}

// thinned leaves out points that are drawn within a pixel of the last one.
func thinned(c *chart, points []point) []point {
	kept := points[:1:1]
	for i, p := range points[1:] {
		last := kept[len(kept)-1]
		distance := max(math.Abs(c.x.at(p.x)-c.x.at(last.x)), math.Abs(c.y.at(p.y)-c.y.at(last.y)))
		if distance >= 1 || i == len(points)-2 {
			kept = append(kept, p)
		}
	}
	return kept
}

type lineStyle struct{ color, dashes string }

// hues has the colors of a transport, from its first variant on.
var hues = map[string][]string{
	"TCP":    {"#222222"},
	"QUIC":   {"#8e44ad"},
	"kcp-go": {"#b45309", "#d97706", "#f0a63a", "#f6cb86"},
}

// kcp4jHues are for every JVM.
var kcp4jHues = []string{"#0b3d91", "#2a7de1", "#17a2b8", "#2e9e5b", "#7cc36a", "#8aa4ff"}

// lineStyles gives the variants of a transport its colors in turn, then again with dashes.
func lineStyles(variants []*latencyVariant) map[*latencyVariant]lineStyle {
	styles := map[*latencyVariant]lineStyle{}
	used := map[string]int{}
	for _, v := range variants {
		colors, ok := hues[v.transport]
		if !ok {
			colors = kcp4jHues
		}
		nth := used[v.transport]
		used[v.transport]++
		styles[v] = lineStyle{color: colors[nth%len(colors)], dashes: "none"}
		if nth >= len(colors) {
			styles[v] = lineStyle{color: colors[nth%len(colors)], dashes: "5 3"}
		}
	}
	return styles
}
