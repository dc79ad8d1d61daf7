package link

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheRuntimesMonitorHasNoPriority(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	resume := preferProcess()
	defer resume()
	preferred := 0
	for i, thread := range ownThreads() {
		attributes, err := unix.SchedGetAttr(thread, 0)
		if err != nil {
			continue // the thread has ended
		}
		isPreferred := attributes.Policy == unix.SCHED_FIFO
		if i == monitorThread && isPreferred {
			t.Error("the monitor has real-time priority")
		}
		if isPreferred {
			preferred++
		}
	}
	if preferred == 0 {
		t.Skip("the process may not ask for real-time priority")
	}
}
