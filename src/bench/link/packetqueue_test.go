package link

import (
	"testing"
	"time"
)

func TestPacketsLeaveTheQueueWhenDueAndThenByArrival(t *testing.T) {
	var q packetQueue
	for i, dueAt := range []time.Duration{30, 10, 20, 10, 30, 10} {
		q.push(&packet{dueAt: dueAt, size: i})
	}
	for _, arrival := range []int{1, 3, 5, 2, 0, 4} {
		if next, popped := q.next(), q.pop(); next != popped || popped.size != arrival {
			t.Errorf("packet %d in place of %d", popped.size, arrival)
		}
	}
	if q.next() != nil {
		t.Error("the queue is not empty")
	}
}
