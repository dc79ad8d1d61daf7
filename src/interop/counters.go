package main

import (
	"github.com/xtaci/kcp-go/v5"
)

// counters are kcp-go's own, of all sessions of this process.
type counters struct {
	Retransmitted  uint64 `json:"retransmitted"`
	Lost           uint64 `json:"lost"`
	Repeated       uint64 `json:"repeated"`
	ChecksumErrors uint64 `json:"checksum_errors"` // a failed AEAD tag is one, too
	KCPErrors      uint64 `json:"kcp_errors"`
	FECParity      uint64 `json:"fec_parity"` // received
	FECRecovered   uint64 `json:"fec_recovered"`
	FECErrors      uint64 `json:"fec_errors"`
	OOB            uint64 `json:"oob"` // received
}

func countersNow() counters {
	c := kcp.DefaultSnmp.Copy()
	return counters{
		Retransmitted:  c.RetransSegs,
		Lost:           c.LostSegs,
		Repeated:       c.RepeatSegs,
		ChecksumErrors: c.InCsumErrors,
		KCPErrors:      c.KCPInErrors,
		FECParity:      c.FECParityShards,
		FECRecovered:   c.FECRecovered,
		FECErrors:      c.FECErrs,
		OOB:            c.OOBPackets,
	}
}
