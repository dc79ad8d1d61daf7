package main

import (
	"errors"
	"strings"
	"testing"
)

func TestCellsHaveTheMedianOfTheValuesAndCountTheNotes(t *testing.T) {
	value := func(v float64) recoveryFigure { return figureOf("1s", v) }
	ended := recoveryFigure{Column: "1s", Note: "ended"}
	for _, c := range []struct {
		figures  []recoveryFigure
		expected string
	}{
		{nil, "-"},
		{[]recoveryFigure{value(45.21)}, "45.2"},
		{[]recoveryFigure{value(3), value(1), value(2)}, "2.00 (1.00 to 3.00)"},
		{[]recoveryFigure{ended}, "ended"},
		{[]recoveryFigure{value(3), ended, ended}, "3.00; ended: 2 of 3"},
	} {
		if text := cellText(c.figures); text != c.expected {
			t.Errorf("%q in place of %q", text, c.expected)
		}
	}
}

func TestTablesHaveThePublishedRuns(t *testing.T) {
	run := func(table, peers string, column string, value float64) *recoveryRun {
		return &recoveryRun{
			Table: table, Peers: peers, Figures: []recoveryFigure{figureOf(column, value)}}
	}
	refused, failed := run("A", "kcp4j", "1s", 9), run("A", "TCP", "5s", 9)
	refused.Refusal = "disturbed"
	failed.fail([]string{"5s"}, errors.New("it has ended\n"))
	report := &recoveryReport{Runs: []*recoveryRun{
		run("A", "kcp4j", "1s", 1), refused, run("A", "kcp4j", "5s", 2), run("B", "TCP", "1s", 3),
		failed}}
	tables := report.tables()
	if len(tables) != 2 || len(tables[0].peers) != 2 || len(tables[0].columns) != 2 {
		t.Fatalf("%d tables, %+v", len(tables), tables[0])
	}
	for cell, expected := range map[recoveryCell]string{
		{"kcp4j", "1s"}: "1.00", {"kcp4j", "5s"}: "2.00", {"TCP", "1s"}: "-", {"TCP", "5s"}: "failed",
	} {
		if text := cellText(tables[0].cells[cell]); text != expected {
			t.Errorf("%v: %q in place of %q", cell, text, expected)
		}
	}
	if failed.Failure != "it has ended" {
		t.Errorf("%q", failed.Failure)
	}
}

func TestPlotsShowTheOutagesAfterWhichDataHasArrived(t *testing.T) {
	const title = outageTitle + " both ways, 500 writes/s: ms to the first data"
	run := func(table, peers, column string, value float64) *recoveryRun {
		return &recoveryRun{
			Table: table, Peers: peers, Figures: []recoveryFigure{figureOf(column, value)}}
	}
	ended := &recoveryRun{Table: title, Peers: "kcp-go",
		Figures: []recoveryFigure{{Column: "20s", Note: "ended"}}}
	report := &recoveryReport{Runs: []*recoveryRun{run(title, "kcp4j", "5s", 40),
		run(title, "kcp4j", "20s", 0), ended, run("Upload", "kcp4j", "RTT 20ms", 4)}}
	plots := report.plots()
	if len(plots) != 1 || plots[0].name != "both-ways-500-writes-s" {
		t.Fatalf("%+v", plots)
	}
	s := plots[0].chart.series
	if len(s) != 1 || len(s[0].points) != 2 || s[0].points[1] != (point{20, leastPlottedMs}) {
		t.Errorf("%+v", s)
	}
	if svg := string(plots[0].chart.svg(report.caption())); !strings.Contains(svg, "<polyline") {
		t.Error(svg)
	}
}
