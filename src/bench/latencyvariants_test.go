package main

import "testing"

func TestVariantsToKCPGoLosePacketsOnlyOnTheirWayToIt(t *testing.T) {
	oneWay := 0
	for _, v := range latencyVariants(newPrograms(jvms{{name: "kcp4j"}}, "", 1400), &gameTraffic{}) {
		up, down := v.losses(0.05)
		expectedDown := 0.05
		if v.client.program.name == "kcp4j" && v.server.program.name == "kcp-go" {
			expectedDown = 0
			oneWay++
		}
		if up != 0.05 || down != expectedDown {
			t.Errorf("%s: %v up, %v down", v.name(), up, down)
		}
	}
	if oneWay != 2 {
		t.Errorf("%d variants to kcp-go", oneWay)
	}
}
