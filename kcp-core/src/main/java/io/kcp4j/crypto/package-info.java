/**
 * Packet encryption: {@link io.kcp4j.crypto.KeyRing} makes the {@link io.kcp4j.crypto.PacketCipher}
 * that seals and opens whole packets, byte for byte as kcp-go. No I/O; independent of FEC and the
 * ARQ. Section 10 of {@code src/docs/protocol.md} specifies the packet formats.
 */
package io.kcp4j.crypto;
