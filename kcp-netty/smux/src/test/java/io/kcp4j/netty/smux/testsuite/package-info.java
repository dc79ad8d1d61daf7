/**
 * Netty's own tests of its socket transports, run on streams of smux: one subclass for each test
 * class of {@code netty-testsuite}, over TCP, TLS and KCP, with the bootstraps of {@link
 * io.kcp4j.netty.smux.testsuite.StreamBootstraps}. Binding makes a server of connections, whose
 * streams are the children. Connecting makes a connection with one stream.
 *
 * <p>The default build runs those that are quick, {@code mvn -Pfull verify} runs all.
 *
 * <h2>What a subclass changes</h2>
 *
 * <ul>
 *   <li>The echo tests echo at the channel that has a parent, which streams of clients have, too.
 *       So their client is a channel of TCP, and {@link
 *       io.kcp4j.netty.smux.testsuite.RelayedBootstrap} carries its bytes in a stream.
 *   <li>{@code SocketCloseForciblyTest} and one test of {@code SocketHalfClosedTest} cast to {@code
 *       SocketChannel}; the subclasses do the same without the cast.
 *   <li>{@code SocketConditionalWritabilityTest} has more time.
 *   <li>{@code SocketDataReadInitialStateTest} connects to a server that does not accept, which
 *       needs the backlog of TCP.
 *   <li>{@code AbstractSocketShutdownOutputByPeerTest} has a stream as its peer.
 * </ul>
 *
 * <h2>What cannot apply</h2>
 *
 * <dl>
 *   <dt>{@code SocketHalfClosedTest.testAutoCloseFalseDoesShutdownOutput}, {@code SocketRstTest}
 *   <dd>They wait until a reset by the peer fails a write; smux has no reset.
 *   <dt>{@code SocketHalfClosedTest.testAllDataReadEventTriggeredAfterHalfClosure}
 *   <dd>With {@code autoRead} off, the end of the input waits for a read, as on NIO, where Netty
 *       skips this test.
 *   <dt>{@code SocketGatheringWriteTest.testGatheringWriteSameEventLoop}
 *   <dd>It clones the bootstraps for one event loop; a clone is no longer one of streams.
 *   <dt>{@code SocketShutdownOutputBySelfTest}, {@code SocketChannelNotYetConnectedTest}, {@code
 *       WriteBeforeRegisteredTest}
 *   <dd>They cast to {@code SocketChannel} and connect to a server of TCP. A stream is never
 *       without its connection.
 *   <dt>{@code SocketConnectTest}, {@code SocketConnectionAttemptTest}, {@code
 *       SocketMultipleConnectTest}, {@code SocketAddressesTest}, {@code AbstractSocketReuseFdTest},
 *       {@code ServerSocketSuspendTest}
 *   <dd>About how connections are made.
 *   <dt>{@code SocketFileRegionTest}
 *   <dd>A {@code FileRegion} is for {@code sendfile}; frames hold bytes of buffers.
 *   <dt>{@code SocketSpdyEchoTest}, {@code SocketSslSessionReuseTest}, {@code
 *       TrafficShapingHandlerTest}
 *   <dd>They cast every channel to {@code SocketChannel}.
 *   <dt>{@code SocketSslClientRenegotiateTest}, {@code SocketSslLargeCertificateTest}
 *   <dd>They need OpenSSL.
 * </dl>
 */
package io.kcp4j.netty.smux.testsuite;
