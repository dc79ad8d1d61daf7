package link

import (
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestOnlyTheThreadsOfALinkHavePriority(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	before := preferredThreads(t) // a main thread does not end when it was one of a link
	l := NewRelay(Config{Delay: delay}, Config{Delay: delay})
	server, client, err := l.probeSockets(time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(server)
	defer unix.Close(client)
	unix.Write(client, []byte{0}) // the threads start with the first datagram

	const pipes = 2
	for end := time.Now().Add(5 * time.Second); preferredThreads(t) != before+pipes; {
		if time.Now().After(end) {
			t.Fatalf("%d more threads have real-time priority", preferredThreads(t)-before)
		}
		time.Sleep(time.Millisecond)
	}
	l.Close()
}

func preferredThreads(t *testing.T) int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	preferred := 0
	for _, task := range tasks {
		thread, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		attributes, err := unix.SchedGetAttr(thread, 0) // fails if the thread has ended
		if err == nil && attributes.Policy == unix.SCHED_FIFO {
			preferred++
		}
	}
	return preferred
}
