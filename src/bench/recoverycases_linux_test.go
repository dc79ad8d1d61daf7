package main

import (
	"slices"
	"testing"
	"time"
)

func TestRecoveryCasesHaveNamesOfTheirOwn(t *testing.T) {
	c := &recoveryComparison{outages: []time.Duration{time.Second, 5 * time.Second}}
	c.jvms, c.mtu = jvms{{name: "kcp4j"}}, defaultMTU
	names := map[string]bool{}
	all := c.allCases()
	for _, r := range all {
		if names[r.name()] {
			t.Errorf("twice: %s", r.name())
		}
		names[r.name()] = true
		if !slices.Contains(allRows, r.rows) {
			t.Errorf("rows %s", r.rows)
		}
	}
	if expected := 3*3*2*6 + (4 + 3 + 4) + 9*4; len(all) < expected {
		t.Errorf("%d cases, expected more than %d", len(all), expected)
	}
}

func TestRowsAndOutagesAreSelected(t *testing.T) {
	for _, c := range []struct {
		rows, outages string
		ok            bool
	}{
		{"outages,stops", "1s", true}, {"outages,x", "1s", false}, {"", "1s", false},
		{"outages", "1", false}, {"outages", "0s", false},
	} {
		comparison := &recoveryComparison{rowList: c.rows, outageList: c.outages}
		err := comparison.check()
		if (err == nil) != c.ok {
			t.Errorf("%q, %q: %v", c.rows, c.outages, err)
		}
		for _, r := range comparison.cases {
			if r.rows != outageRows && r.rows != stopRows {
				t.Errorf("%q has %s", c.rows, r.name())
			}
		}
	}
}

func TestThePhaseOfAnOutageDependsOnTheSeed(t *testing.T) {
	if phase(1) == phase(2) || phase(1) != phase(1) || phase(1) < 0 || phase(1) >= time.Second {
		t.Errorf("%v, %v", phase(1), phase(2))
	}
}
