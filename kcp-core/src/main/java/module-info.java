/**
 * The KCP state machine, and sessions over it: no I/O, no clock, no threads.
 *
 * <p>The stable API is {@link io.kcp4j.Kcp} with its configuration, keys and ciphers in {@link
 * io.kcp4j.crypto}, {@link io.kcp4j.fec.FecConfig}, {@link io.kcp4j.lanes.LanesConfig}, and the
 * interfaces of services. Types marked {@link io.kcp4j.Unstable} are for drivers such as {@code
 * kcp-netty}.
 */
module io.kcp4j.core {
  requires transitive io.netty.buffer;
  requires io.netty.common;
  requires static jdk.jfr;
  requires static org.bouncycastle.provider;

  exports io.kcp4j;
  exports io.kcp4j.congestion;
  exports io.kcp4j.crypto;
  exports io.kcp4j.fec;
  exports io.kcp4j.lanes;
  exports io.kcp4j.scheduling to
      io.kcp4j.netty.smux;
  exports io.kcp4j.session;
  exports io.kcp4j.trace;

  uses io.kcp4j.crypto.CipherLibrary;
  uses io.kcp4j.crypto.Salsa20Kernel;
  uses io.kcp4j.fec.ShardKernel;
}
