/**
 * The KCP state machine, and sessions over it: no I/O, no clock, no threads.
 *
 * <p>The API is {@link io.kcp4j.KcpConfig} with the values that it names, congestion controls and
 * tracers, the keys of {@link io.kcp4j.crypto}, {@link io.kcp4j.fec.FecConfig} and {@link
 * io.kcp4j.lanes.LanesConfig}. Packages below {@code io.kcp4j.internal} are for kcp4j's own
 * modules, and change without notice.
 */
module io.kcp4j.core {
  requires transitive io.netty.buffer;
  requires io.netty.common;
  requires static jdk.jfr;
  requires static org.bouncycastle.provider;

  exports io.kcp4j;
  exports io.kcp4j.crypto;
  exports io.kcp4j.fec;
  exports io.kcp4j.lanes;
  exports io.kcp4j.trace;
  exports io.kcp4j.internal.admission to
      io.kcp4j.netty;
  exports io.kcp4j.internal.arq to
      io.kcp4j.netty;
  exports io.kcp4j.internal.crypto to
      io.kcp4j.core.openssl,
      io.kcp4j.core.vector,
      io.kcp4j.netty;
  exports io.kcp4j.internal.fec to
      io.kcp4j.core.vector,
      io.kcp4j.netty;
  exports io.kcp4j.internal.lanes to
      io.kcp4j.netty;
  exports io.kcp4j.internal.memory to
      io.kcp4j.netty;
  exports io.kcp4j.internal.path to
      io.kcp4j.netty;
  exports io.kcp4j.internal.scheduling to
      io.kcp4j.netty.smux;
  exports io.kcp4j.internal.session to
      io.kcp4j.netty;
  exports io.kcp4j.internal.wire to
      io.kcp4j.netty;

  uses io.kcp4j.internal.crypto.CipherLibrary;
  uses io.kcp4j.internal.crypto.Salsa20Kernel;
  uses io.kcp4j.internal.fec.ShardKernel;
}
