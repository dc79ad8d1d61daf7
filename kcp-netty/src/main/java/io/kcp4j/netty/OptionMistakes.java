package io.kcp4j.netty;

import io.kcp4j.Delivery;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.ChannelOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * The mistakes in the options of one configuration. Netty only warns of an option that a channel
 * does not have, and can be told to ignore one that is refused: binding or connecting fails with
 * what is remembered here. Thread-safe.
 */
final class OptionMistakes {

  /** On what the options are set. */
  enum Target {
    SERVER,
    CLIENT,
    /** An accepted channel. */
    CHILD
  }

  /** Of which classes the options of sessions and servers are. */
  private static final List<String> PREFIXES =
      Stream.of(KcpChannelOption.class, KcpServerChannelOption.class)
          .map(type -> type.getName() + '#')
          .toList();

  private final Target target;

  private volatile IllegalArgumentException misplaced;

  /** Without its keys, the sessions would be plaintext. */
  private volatile IllegalArgumentException keyRing;

  OptionMistakes(Target target) {
    this.target = target;
  }

  /** The mistake with which binding or connecting must fail, or null. */
  IllegalArgumentException first() {
    return misplaced == null ? keyRing : misplaced;
  }

  /** The same for a channel with a session, whose options must not contradict each other. */
  IllegalArgumentException first(KcpChannelConfig config) {
    IllegalArgumentException first = first();
    return first == null ? contradiction(config) : first;
  }

  private static IllegalArgumentException contradiction(KcpChannelConfig config) {
    Delivery delivery = config.kcp().delivery();
    if (delivery == Delivery.LANES && !config.kcp().extension()) {
      return new IllegalArgumentException("extension: false (expected: true with DELIVERY LANES)");
    }
    if (delivery != Delivery.LANES && config.lanes() != LanesConfig.DEFAULT) {
      return new IllegalArgumentException(
          KcpChannelOption.LANES + ": set with DELIVERY " + delivery + " (expected: LANES)");
    }
    return null;
  }

  /**
   * An option that the configuration does not have was set.
   *
   * @return false if it is no option of KCP
   * @throws IllegalArgumentException if it is one, which says where it belongs
   */
  boolean unknown(ChannelOption<?> option) {
    if (PREFIXES.stream().noneMatch(option.name()::startsWith)) {
      return false;
    }
    misplaced = new IllegalArgumentException(option + ": (expected: " + expected() + ")");
    throw misplaced;
  }

  private String expected() {
    return switch (target) {
      case SERVER -> "set by childOption, it is not a server's";
      case CLIENT -> "set by option on a server, it is not a client's";
      case CHILD -> "set by option on the server, for all its sessions";
    };
  }

  /**
   * Sets a key ring. If it is refused, that counts until another one is set.
   *
   * @throws RuntimeException if {@code set} throws it
   */
  void setKeyRing(ChannelOption<?> option, Runnable set) {
    try {
      set.run();
    } catch (RuntimeException | Error e) {
      keyRing = new IllegalArgumentException(option + ": not set, " + e.getMessage(), e);
      throw e;
    }
    keyRing = null;
  }
}
