/**
 * Forward error correction as in kcp-go: parity packets from which a receiver recovers lost packets
 * without waiting for a retransmission. Independent of the ARQ.
 */
package io.kcp4j.fec;
