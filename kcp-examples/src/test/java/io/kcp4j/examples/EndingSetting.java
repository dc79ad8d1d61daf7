package io.kcp4j.examples;

import java.util.EnumSet;
import java.util.Set;

/** How an {@link EndingPeer} differs from one with the defaults. */
enum EndingSetting {
  /** A client; otherwise a server. */
  CLIENT,
  /** {@link DeadPeerDetection}. */
  RECIPE,
  /** A fixed {@code RESET_SECRET}. */
  SECRET,
  /** A key ring of an AEAD. */
  KEY,
  /** Refuses every client, with a reason. */
  BAN,
  /** Takes one session. */
  FULL;

  static Set<EndingSetting> parse(String names) {
    Set<EndingSetting> settings = EnumSet.noneOf(EndingSetting.class);
    for (String name : names.split(",", -1)) {
      if (!name.isEmpty()) {
        settings.add(valueOf(name));
      }
    }
    return settings;
  }
}
