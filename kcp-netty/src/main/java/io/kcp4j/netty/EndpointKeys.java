package io.kcp4j.netty;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketCipher;
import io.kcp4j.session.SessionTable;

/** The keys of an endpoint, and their cipher, which all endpoints of an event loop share. */
final class EndpointKeys {

  private final EventLoopContext loop;

  private KeyRing ring;
  private PacketCipher cipher;

  /** Acquires the cipher of a key ring, which may throw if it is the user's own. */
  EndpointKeys(EventLoopContext loop, KeyRing ring) {
    this.loop = loop;
    this.ring = ring;
    cipher = loop.acquireCipher(ring);
  }

  KeyRing ring() {
    return ring;
  }

  PacketCipher cipher() {
    return cipher;
  }

  /**
   * Replaces the key ring: key rotation.
   *
   * @throws IllegalArgumentException if the new one adds another number of bytes to a packet
   */
  void change(KeyRing next, SessionTable table) {
    PacketCipher newCipher = loop.acquireCipher(next);
    table.cipher(newCipher);
    cipher = newCipher;
    loop.releaseCipher(ring);
    ring = next;
  }

  /** Releases the cipher. */
  void release() {
    loop.releaseCipher(ring);
  }
}
