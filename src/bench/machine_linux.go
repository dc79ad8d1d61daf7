package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// machineCPUTime is the time in which the cores of this machine were not idle. It includes the time
// in which the host of a virtual machine did not run them.
func machineCPUTime() (time.Duration, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	var user, nice, system, idle, ioWait, irq, softIRQ, steal time.Duration
	_, err = fmt.Fscan(strings.NewReader(strings.TrimPrefix(string(stat), "cpu")),
		&user, &nice, &system, &idle, &ioWait, &irq, &softIRQ, &steal)
	return (user + nice + system + irq + softIRQ + steal) * cpuTick, err
}
