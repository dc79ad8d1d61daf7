package io.kcp4j.netty;

import io.kcp4j.KcpTracer;
import java.net.InetSocketAddress;

/** Makes the tracers of sessions: see {@link KcpChannelOption#TRACER}. */
@FunctionalInterface
public interface KcpTracerFactory {

  /** Traces no session. */
  KcpTracerFactory NONE = (remote, conv) -> null;

  /**
   * The tracer of a new session, or null to not trace it. Called once for each session, on its
   * event loop. A session whose settings change before it has sent or received anything is replaced
   * by a new one. An exception fails the connect, or closes the accepted channel.
   *
   * @param remote the address of the peer
   * @param conv the conversation id
   */
  KcpTracer create(InetSocketAddress remote, int conv);
}
