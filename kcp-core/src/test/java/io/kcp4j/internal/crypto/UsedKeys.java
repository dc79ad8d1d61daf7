package io.kcp4j.internal.crypto;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.PacketKey;

/** Keys that have been used, for tests of other modules. */
public final class UsedKeys {

  private UsedKeys() {}

  /** A key that has reached {@link PacketKey#USAGE_LIMIT}. */
  public static PacketKey atTheLimit() {
    PacketKey key = PacketKey.ofPassphrase(CipherAlgorithm.AES_128_GCM, "used");
    key.addSeals(Integer.MAX_VALUE);
    key.addOpens(1);
    return key;
  }
}
