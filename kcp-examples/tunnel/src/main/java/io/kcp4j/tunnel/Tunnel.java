package io.kcp4j.tunnel;

import io.kcp4j.KcpCounters;
import java.net.InetSocketAddress;
import java.util.List;

/** An end of the tunnel that has been started. Thread-safe. */
interface Tunnel {

  /** Where it listens. */
  List<InetSocketAddress> addresses();

  /** How many KCP sessions there are. */
  int sessions();

  /** The counters of all sessions. */
  KcpCounters counters();

  /** Resolves the name of the remote host again. Blocks. */
  void refresh();

  /** Accepts no more connections; those that are open go on. */
  void drain();

  /** Closes all sessions, and waits until that is done. */
  void close();
}
