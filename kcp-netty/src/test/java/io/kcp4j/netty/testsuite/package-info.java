/**
 * Netty's own tests of its socket transports, run on {@code KcpServerChannel} and {@code
 * KcpChannel}: one subclass for each test class of {@code netty-testsuite}, with the bootstraps of
 * {@link io.kcp4j.netty.testsuite.Bootstraps}, on NIO and, where the system has them, epoll and
 * io_uring.
 *
 * <p>The default build runs those that are quick. {@code mvn -Pfull verify} runs all; {@code mvn
 * -Pfull -pl kcp-netty -am test -Dtest='io/kcp4j/netty/testsuite/*'
 * -Dsurefire.failIfNoSpecifiedTests=false} runs nothing else.
 *
 * <h2>What a subclass changes</h2>
 *
 * <ul>
 *   <li>KCP has no FIN. That of the extension is sent only to a peer that has shown that it has the
 *       extension. Where a test waits for the end of a session in which little was exchanged, an
 *       idle timeout ({@code CompositeBufferGatheringWriteTest}) or TLS's {@code close_notify}
 *       ({@code SocketStartTlsTest}) stands in for it.
 *   <li>A server that does not accept has no backlog to answer for it, so {@code
 *       SocketDataReadInitialStateTest} connects without a probe.
 *   <li>{@code SocketConnectTest} casts to {@code SocketChannel} where it writes before it
 *       connects; the subclass writes the same buffers without the cast.
 *   <li>{@code SocketConnectionAttemptTest} is given an unresponsive host on loopback.
 *   <li>{@code SocketConditionalWritabilityTest} has more time.
 * </ul>
 *
 * <h2>What cannot apply</h2>
 *
 * <dl>
 *   <dt>{@code SocketHalfClosedTest}, {@code SocketShutdownOutputBySelfTest}, {@code
 *       SocketShutdownOutputByPeerTest}, {@code AbstractSocketShutdownOutputByPeerTest}
 *   <dd>They cast to {@code SocketChannel}, connect with {@code java.net.Socket}, or finish a
 *       session before anything was exchanged; {@code DuplexTest} has half-close.
 *   <dt>{@code SocketRstTest}, {@code SocketCloseForciblyTest}
 *   <dd>They wait until the peer's close or reset has closed the other end, though nothing was
 *       exchanged before.
 *   <dt>{@code AbstractSocketReuseFdTest}
 *   <dd>About the reuse of TCP's file descriptors; waits for the client's close at the server, and
 *       takes the exception of an idle timeout for a failure.
 *   <dt>{@code SocketFileRegionTest}
 *   <dd>A {@code FileRegion} is for {@code sendfile}; what KCP sends is copied into segments.
 *   <dt>{@code SocketChannelNotYetConnectedTest}
 *   <dd>Calls {@code shutdownInput} and {@code shutdownOutput}, and connects to a server of TCP.
 *   <dt>{@code WriteBeforeRegisteredTest}, {@code SocketSpdyEchoTest}, {@code
 *       SocketSslSessionReuseTest}, {@code TrafficShapingHandlerTest}
 *   <dd>They cast every channel to {@code SocketChannel}, which is TCP's.
 *   <dt>{@code SocketSslClientRenegotiateTest}
 *   <dd>Needs OpenSSL, and waits at the client until the server has closed.
 *   <dt>{@code SocketSslLargeCertificateTest}
 *   <dd>Needs OpenSSL, and takes no bootstraps: it tests TLS over TCP.
 *   <dt>{@code ServerSocketSuspendTest}
 *   <dd>Connects with {@code java.net.Socket}; Netty itself has disabled it.
 *   <dt>{@code DatagramUnicastTest} and all others of {@code Datagram}
 *   <dd>For channels of datagrams, not of streams.
 *   <dt>{@code AbstractSingleThreadEventLoopTest} and its subclasses, and the packages {@code sctp}
 *       and {@code udt}
 *   <dd>For event loops and for other transports.
 * </dl>
 */
package io.kcp4j.netty.testsuite;
