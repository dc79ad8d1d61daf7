package main

import (
	"slices"
	"testing"
)

func TestTicksSurroundTheirRange(t *testing.T) {
	for _, c := range []struct {
		least, most float64
		expected    []float64
	}{
		{1.1, 2.1, []float64{1, 1.2, 1.5, 2, 2.5}},
		{1.13, 1.22, []float64{1.1, 1.2, 1.3}},
		{20, 20, []float64{20, 22}},
		{22, 350, []float64{20, 50, 100, 200, 500}},
		{0.0003, 1, []float64{0.0001, 0.001, 0.01, 0.1, 1}},
	} {
		ticks := ticksAround(c.least, c.most)
		if !slices.EqualFunc(ticks, c.expected, func(a, b float64) bool {
			return a/b > 0.999 && a/b < 1.001
		}) {
			t.Errorf("%v to %v: %v", c.least, c.most, ticks)
		}
	}
}
