package io.kcp4j.netty.udp;

/** The system calls by which an epoll socket can receive. */
public enum ReceiveCall {
  /** Receives one datagram. */
  RECVMSG,

  /** Receives up to {@value ReceiveBuffers#MAX_SLOTS} datagrams, of any peers. */
  RECVMMSG,

  /** Receives a GRO batch of up to 64 KiB from one peer (UDP_GRO). */
  GRO
}
