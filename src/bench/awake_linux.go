package main

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An awakening keeps the cores from going idle: a loop on each core runs whenever nothing else
// does, with the policy SCHED_IDLE. The host of a virtual machine gives an idle core to others, and
// is up to milliseconds late when the core has to wake up.
type awakening struct {
	loops []*exec.Cmd
	ended sync.WaitGroup
}

// keepAwake starts the loops, on all cores that this process may use.
func keepAwake() (*awakening, error) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		return nil, err
	}
	a := new(awakening)
	for core, found := 0, 0; found < usable.Count(); core++ {
		if !usable.IsSet(core) {
			continue
		}
		found++
		if err := a.startLoop(core); err != nil {
			a.end()
			return nil, err
		}
	}
	return a, nil
}

// startLoop starts a process, which inherits core and policy from the thread that starts it, and
// ends with that thread.
func (a *awakening) startLoop(core int) error {
	loop := exec.Command("sh", "-c", "while :; do :; done")
	loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	a.ended.Add(1)
	go func() {
		defer a.ended.Done()
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := errors.Join(runIdle(core), loop.Start())
		started <- err
		if err == nil {
			loop.Wait()
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	a.loops = append(a.loops, loop)
	return nil
}

// runIdle lets this thread run on one core, and there only when no other thread needs it.
func runIdle(core int) error {
	var only unix.CPUSet
	only.Set(core)
	idle := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
	return errors.Join(unix.SchedSetaffinity(0, &only), unix.SchedSetAttr(0, &idle, 0))
}

// cpuTime is what the loops have used.
func (a *awakening) cpuTime() (time.Duration, error) {
	var total time.Duration
	for _, loop := range a.loops {
		used, err := cpuTime(loop.Process.Pid)
		if err != nil {
			return 0, err
		}
		total += used
	}
	return total, nil
}

func (a *awakening) end() {
	for _, loop := range a.loops {
		loop.Process.Kill()
	}
	a.ended.Wait()
}
