package io.kcp4j.lab;

import io.kcp4j.KcpCounters;
import io.netty.buffer.ByteBuf;
import java.util.function.IntFunction;

/** One machine: the sessions of one socket. It has one remote machine. */
interface LabPeer {

  /** Sets where its datagrams go. */
  void connect(LabLink out);

  /** Begins a session, as a client does. */
  LabSession open(int conv, LabUser user);

  /** Accepts sessions; {@code users} makes the user of each from its conversation id. */
  void listen(IntFunction<LabUser> users);

  /** A datagram arrives. The buffer is the peer's until this returns. */
  void received(ByteBuf packet);

  /** What all its sessions have counted. */
  KcpCounters counters();

  /** Ends all sessions. */
  void close();
}
