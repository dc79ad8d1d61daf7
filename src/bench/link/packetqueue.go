package link

import (
	"container/heap"
	"time"
)

// maxPacketBytes is more than the MTU of a TUN device and than KCP or QUIC datagrams have.
const maxPacketBytes = 2048

// A packet is on its way through the link.
type packet struct {
	dueAt  time.Duration
	number uint64 // in order of arrival
	size   int
	data   [maxPacketBytes]byte
}

// A packetQueue orders packets by the time when they are due, those of the same time by arrival.
type packetQueue struct {
	packets packetHeap
	pushed  uint64
}

func (q *packetQueue) push(p *packet) {
	p.number = q.pushed
	q.pushed++
	heap.Push(&q.packets, p)
}

// next returns the packet that is due first, without removing it, or nil.
func (q *packetQueue) next() *packet {
	if len(q.packets) == 0 {
		return nil
	}
	return q.packets[0]
}

func (q *packetQueue) pop() *packet {
	return heap.Pop(&q.packets).(*packet)
}

type packetHeap []*packet

func (h packetHeap) Len() int      { return len(h) }
func (h packetHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h packetHeap) Less(i, j int) bool {
	if h[i].dueAt != h[j].dueAt {
		return h[i].dueAt < h[j].dueAt
	}
	return h[i].number < h[j].number
}

func (h *packetHeap) Push(p any) { *h = append(*h, p.(*packet)) }

func (h *packetHeap) Pop() any {
	last := len(*h) - 1
	p := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return p
}
