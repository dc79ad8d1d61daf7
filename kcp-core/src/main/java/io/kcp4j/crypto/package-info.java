/**
 * Packet crypto: {@link io.kcp4j.crypto.KeyRing} makes the {@link io.kcp4j.crypto.PacketCipher}
 * that seals and opens whole packets, byte-equal to kcp-go's. No I/O, and nothing of FEC or the
 * ARQ. {@code src/docs/protocol.md} says in its section 10 what stands on the wire.
 */
package io.kcp4j.crypto;
