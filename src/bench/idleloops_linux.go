package main

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// idleLoops keep the cores from going idle: a process on each core loops at the lowest priority,
// SCHED_IDLE. The host of a virtual machine gives an idle core to others, and may be milliseconds
// late when the core has to wake up.
type idleLoops struct {
	loops   []*exec.Cmd
	ending  atomic.Bool
	waiting sync.WaitGroup
}

// startIdleLoops starts a loop on each core that this process may use. If one of them ends before
// end is called, failed is called.
func startIdleLoops(failed func(error)) (*idleLoops, error) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		return nil, err
	}
	l := new(idleLoops)
	for core, found := 0, 0; found < usable.Count(); core++ {
		if !usable.IsSet(core) {
			continue
		}
		found++
		if err := l.start(core, failed); err != nil {
			l.end()
			return nil, err
		}
	}
	return l, nil
}

// start starts a process, which inherits core and policy from the thread that starts it. The kernel
// kills the process when that thread ends, so the thread waits for the process.
func (l *idleLoops) start(core int, failed func(error)) error {
	loop := exec.Command("sh", "-c", "while :; do :; done")
	// An interrupt of the foreground process group ends this process first.
	loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	l.waiting.Add(1)
	go func() {
		defer l.waiting.Done()
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := runIdle(core)
		if err == nil {
			err = loop.Start()
		}
		started <- err
		if err != nil {
			return
		}
		loop.Wait()
		if !l.ending.Load() {
			failed(fmt.Errorf("the idle loop of core %d: %v", core, loop.ProcessState))
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("idle loop of core %d: %w", core, err)
	}
	l.loops = append(l.loops, loop)
	return nil
}

// runIdle restricts this thread to one core and to the time that other threads leave.
func runIdle(core int) error {
	var only unix.CPUSet
	only.Set(core)
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	return errors.Join(unix.SchedSetaffinity(0, &only), unix.SchedSetAttr(0, &idle, 0))
}

// cpuTime is what the loops have used, with the interrupts that were served meanwhile.
func (l *idleLoops) cpuTime() (time.Duration, error) {
	var total time.Duration
	for _, loop := range l.loops {
		used, err := cpuTime(loop.Process.Pid)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

// end ends the loops; more calls have no effect.
func (l *idleLoops) end() {
	l.ending.Store(true)
	for _, loop := range l.loops {
		loop.Process.Kill()
	}
	l.waiting.Wait()
}
