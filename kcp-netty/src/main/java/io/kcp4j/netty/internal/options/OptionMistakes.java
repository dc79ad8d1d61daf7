package io.kcp4j.netty.internal.options;

import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.channel.ChannelOption;
import java.util.List;
import java.util.stream.Stream;

/**
 * The mistakes in the options of one configuration. Netty only warns of an option that a channel
 * does not have, and can be told to ignore one that is refused: binding or connecting fails with
 * what is remembered here. Thread-safe.
 */
public final class OptionMistakes {

  /** On what the options are set. */
  public enum Target {
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

  public OptionMistakes(Target target) {
    this.target = target;
  }

  /** The mistake with which binding or connecting must fail, or null. */
  public IllegalArgumentException first() {
    return misplaced == null ? keyRing : misplaced;
  }

  /**
   * An option that the configuration does not have was set.
   *
   * @return false if it is no option of KCP
   * @throws IllegalArgumentException if it is one, which says where it belongs
   */
  public boolean unknown(ChannelOption<?> option) {
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
  public void setKeyRing(ChannelOption<?> option, Runnable set) {
    try {
      set.run();
    } catch (RuntimeException | Error e) {
      keyRing = new IllegalArgumentException(option + ": not set, " + e.getMessage(), e);
      throw e;
    }
    keyRing = null;
  }
}
