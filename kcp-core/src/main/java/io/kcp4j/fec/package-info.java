/**
 * The settings of forward error correction: parity packets as in kcp-go, from which a receiver
 * recovers lost packets without waiting for a retransmission.
 */
package io.kcp4j.fec;
