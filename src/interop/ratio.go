package main

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/xtaci/kcp-go/v5"
)

// changeRatio gives a session another FEC encoder. kcp-go has no public way to do that: the private
// names are those of the version that go.mod pins. The sequence goes on with a group of the new
// ratio, past what the old encoder may send meanwhile. Its unfinished group is dropped.
//
// kcp-go's own receivers detect the new ratio, but until then they may recover groups with the old
// one. That produces packets that were never sent and whose headers look valid, because a code word
// of equal bytes is equal bytes: the stream can be wrong after that.
func changeRatio(session *kcp.UDPSession, dataShards, parityShards int) error {
	field := reflect.ValueOf(session).Elem().FieldByName("fecEncoder")
	if field.IsNil() {
		return fmt.Errorf("a session without FEC has no ratio to change")
	}
	old := field.Elem()
	encoder := newFECEncoder(dataShards, parityShards, int(old.FieldByName("headerOffset").Int()))
	next := reflect.NewAt(old.Type(), encoder).Elem().FieldByName("next")
	shards := uint64(dataShards + parityShards)
	group := old.FieldByName("next").Uint()/shards + 2
	*(*uint32)(unsafe.Pointer(next.UnsafeAddr())) = uint32(group * shards)
	atomic.StorePointer((*unsafe.Pointer)(unsafe.Pointer(field.UnsafeAddr())), encoder)
	return nil
}

//go:linkname newFECEncoder github.com/xtaci/kcp-go/v5.newFECEncoder
func newFECEncoder(dataShards, parityShards, headerOffset int) unsafe.Pointer
