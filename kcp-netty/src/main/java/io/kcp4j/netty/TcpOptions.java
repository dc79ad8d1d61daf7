package io.kcp4j.netty;

import io.kcp4j.session.SessionTable;
import io.netty.channel.ChannelOption;
import java.util.concurrent.TimeUnit;

/**
 * The options of TCP that frameworks set on any channel. They are accepted, so that Netty logs no
 * warning. {@code SO_LINGER} is another name of {@link KcpChannelOption#LINGER}. To set the others
 * has no effect: they read as what is in force. {@code getOptions} leaves all of them out.
 */
final class TcpOptions {

  /** Those of a connection. */
  static final OptionTable<KcpChannelConfig> CHANNEL =
      new OptionTable<KcpChannelConfig>()
          .add(ChannelOption.TCP_NODELAY, config -> true, (config, value) -> {})
          .add(
              ChannelOption.SO_KEEPALIVE,
              config -> config.keepAliveIntervalMs() > 0,
              (config, value) -> {})
          .add(ChannelOption.SO_LINGER, TcpOptions::lingerS, TcpOptions::setLingerS);

  /** Those of a server. */
  static final OptionTable<KcpServerChannelConfig> SERVER =
      new OptionTable<KcpServerChannelConfig>()
          .add(
              ChannelOption.SO_BACKLOG,
              config -> SessionTable.MAX_PENDING_ATTEMPTS,
              (config, value) -> {});

  private static final int MAX_LINGER_S = Integer.MAX_VALUE / 1000;

  private TcpOptions() {}

  /** In seconds, rounded up; -1, as with TCP, for the default. */
  private static int lingerS(KcpChannelConfig config) {
    int ms = config.lingerMs();
    return ms == KcpChannelConfig.DEFAULT_LINGER_MS ? -1 : (int) Math.ceil(ms / 1e3);
  }

  private static void setLingerS(KcpChannelConfig config, int seconds) {
    if (seconds > MAX_LINGER_S) {
      throw new IllegalArgumentException(
          ChannelOption.SO_LINGER + ": " + seconds + " (expected: <= " + MAX_LINGER_S + ")");
    }
    config.setLingerMs(
        seconds < 0
            ? KcpChannelConfig.DEFAULT_LINGER_MS
            : (int) TimeUnit.SECONDS.toMillis(seconds));
  }
}
