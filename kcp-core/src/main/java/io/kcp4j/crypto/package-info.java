/**
 * Keys and ciphers of packets, byte for byte as in kcp-go. Section 10 of {@code
 * src/docs/protocol.md} specifies the packet formats.
 */
package io.kcp4j.crypto;
