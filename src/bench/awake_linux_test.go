package main

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestLoopsKeepEachCoreAwakeAtIdlePriority(t *testing.T) {
	awake, err := keepAwake()
	if err != nil {
		t.Fatal(err)
	}
	if len(awake.loops) != runtime.NumCPU() {
		t.Fatalf("%d loops on %d cores", len(awake.loops), runtime.NumCPU())
	}
	var covered unix.CPUSet
	for _, loop := range awake.loops {
		pid := loop.Process.Pid
		attributes, err := unix.SchedGetAttr(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		if attributes.Policy != unix.SCHED_IDLE {
			t.Fatalf("policy %d", attributes.Policy)
		}
		var cores unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &cores); err != nil {
			t.Fatal(err)
		}
		if cores.Count() != 1 {
			t.Fatalf("a loop on %d cores", cores.Count())
		}
		for core := 0; ; core++ {
			if cores.IsSet(core) {
				covered.Set(core)
				break
			}
		}
	}
	if covered.Count() != runtime.NumCPU() {
		t.Fatalf("loops on %d cores of %d", covered.Count(), runtime.NumCPU())
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		used, err := awake.cpuTime()
		if err != nil {
			t.Fatal(err)
		}
		if used > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the loops do not run")
		}
	}

	awake.end()
	for _, loop := range awake.loops {
		if loop.ProcessState == nil || loop.ProcessState.Success() {
			t.Fatalf("a loop has not been ended: %v", loop.ProcessState)
		}
	}
}
