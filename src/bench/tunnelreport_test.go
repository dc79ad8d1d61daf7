package main

import (
	"slices"
	"testing"
)

func TestEachTunnelRunsWithBothImplementationsAtEachEnd(t *testing.T) {
	all := tunnelVariants(jvms{{"kcp4j", []string{"java"}}}, "kcp.jar",
		[]string{notCompressed, compressed}, []int{1, 50}, []string{"--mtu=1300"})
	ends := map[string][]string{}
	for _, v := range all {
		ends[v.work()] = append(ends[v.work()], v.ends())
		if slices.Contains(v.options, "--nocomp") != (v.compression == notCompressed) ||
			!slices.Contains(v.options, "--mtu=1300") {
			t.Errorf("%s: %v", v.name(), v.options)
		}
		if v.isCompiled() != (v.ends() == reference) {
			t.Errorf("%s: compiled: %v", v.name(), v.isCompiled())
		}
	}
	if len(ends) != 4 {
		t.Errorf("%v", ends)
	}
	for work, names := range ends {
		expected := []string{"kcp-go", "kcp4j", "kcp4j to kcp-go", "kcp-go to kcp4j"}
		if !slices.Equal(names, expected) {
			t.Errorf("%s: %v", work, names)
		}
	}
}

func TestTunnelsAreComparedWithThatOfKCPGoOfTheSameWork(t *testing.T) {
	result := func(work, ends string, mbps ...float64) *tunnelResult {
		r := &tunnelResult{Work: work, Ends: ends}
		for _, figure := range mbps {
			r.samples = append(r.samples, tunnelSample{mbps: figure, cpuPerGB: 1, clientMB: 1, serverMB: 1})
		}
		return r
	}
	r := &tunnelReport{Results: []*tunnelResult{
		result("1 connection", "kcp-go", 50, 40, 45), result("1 connection", "kcp4j", 180),
		result("50 connections", "kcp-go", 10), result("50 connections", "kcp4j", 30),
		result("3 connections", "kcp4j", 30), result("50 connections", "kcp-go to kcp4j"),
	}}
	r.summarize()
	for i, ratio := range []float64{1, 4, 1, 3, 0} {
		if r.Results[i].MBps.Ratio != ratio {
			t.Errorf("result %d: %v times that of kcp-go", i, r.Results[i].MBps.Ratio)
		}
	}
	if r.Results[5].MBps != nil {
		t.Error("a figure without a sample")
	}
	if m := r.Results[0].MBps; m.Median != 45 || m.Least != 40 || m.Most != 50 {
		t.Errorf("%+v", m)
	}
}

func TestSamplesOfABusyMachineAreRefused(t *testing.T) {
	quiet, busy := tunnelSample{otherCPU: maxOtherCPU}, tunnelSample{otherCPU: maxOtherCPU + 1}
	if quiet.refusal() != "" || busy.refusal() == "" {
		t.Errorf("quiet: %q, busy: %q", quiet.refusal(), busy.refusal())
	}
}
