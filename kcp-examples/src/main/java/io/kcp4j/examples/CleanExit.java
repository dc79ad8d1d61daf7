package io.kcp4j.examples;

import static java.util.concurrent.TimeUnit.SECONDS;

import io.netty.channel.group.ChannelGroup;

/** The recipe of the guide for processes that exit: peers get what was flushed, and are told. */
final class CleanExit {

  private static final int LIMIT_S = 10;

  private CleanExit() {}

  /** Closes these channels when the process exits, and waits until their peers have everything. */
  static void closeOnExit(ChannelGroup channels) {
    Runnable close = () -> channels.close().awaitUninterruptibly(LIMIT_S, SECONDS);
    Runtime.getRuntime().addShutdownHook(new Thread(close, "close-channels"));
  }
}
