package io.kcp4j.netty;

import io.kcp4j.netty.udp.ReceiveCall;
import java.util.Set;

/**
 * How a socket takes datagrams in, see {@link KcpSocketOption#RECEIVE}. All but {@link #SINGLE} are
 * epoll's; on other event loops every mode means that one.
 */
public enum ReceiveMode {
  /**
   * {@link #GRO} as long as what comes is coalesced, {@link #RECVMMSG} while it is not, and from
   * time to time a look whether that has changed.
   */
  AUTO,

  /**
   * One system call takes a train of up to 64 KiB that one peer has sent (UDP_GRO): by far the
   * cheapest for bulk transfer, and the dearest for many peers that send one datagram each.
   */
  GRO,

  /** One system call takes up to 64 datagrams, of any peers. */
  RECVMMSG,

  /** One system call takes one datagram. */
  SINGLE;

  /** The system calls that a socket may receive by. */
  Set<ReceiveCall> calls() {
    return switch (this) {
      case AUTO -> Set.of(ReceiveCall.GRO, ReceiveCall.RECVMMSG);
      case GRO -> Set.of(ReceiveCall.GRO);
      case RECVMMSG -> Set.of(ReceiveCall.RECVMMSG);
      case SINGLE -> Set.of(ReceiveCall.RECVMSG);
    };
  }
}
