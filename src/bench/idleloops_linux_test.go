package main

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestALoopRunsOnEachCoreAtIdlePriority(t *testing.T) {
	loops, err := startIdleLoops(func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loops.end)
	var covered unix.CPUSet
	for _, loop := range loops.loops {
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
		for i := range cores {
			covered[i] |= cores[i]
		}
		awaitCPUTime(t, pid)
	}
	if len(loops.loops) != runtime.NumCPU() || covered.Count() != runtime.NumCPU() {
		t.Fatalf("%d loops on %d of %d cores", len(loops.loops), covered.Count(), runtime.NumCPU())
	}

	loops.end()
	for _, loop := range loops.loops {
		status, ok := loop.ProcessState.Sys().(syscall.WaitStatus)
		if !ok || status.Signal() != syscall.SIGKILL {
			t.Fatalf("a loop has not been killed: %v", loop.ProcessState)
		}
	}
}

func awaitCPUTime(t *testing.T, pid int) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		used, err := cpuTime(pid)
		if err != nil {
			t.Fatal(err)
		}
		if used > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("a loop does not run")
		}
	}
}

func TestALoopThatEndsIsReported(t *testing.T) {
	failed := make(chan error, 1)
	loops, err := startIdleLoops(func(err error) { failed <- err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loops.end)
	if err := loops.loops[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-failed:
	case <-time.After(time.Minute):
		t.Fatal("not reported")
	}
}
