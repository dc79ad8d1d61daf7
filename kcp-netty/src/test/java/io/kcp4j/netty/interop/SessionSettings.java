package io.kcp4j.netty.interop;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import java.util.ArrayList;
import java.util.List;

/**
 * What both peers of a session are set to; the rest is at the defaults of kcp4j, which are those of
 * the Go program as well.
 *
 * @param window both windows, in segments
 * @param fec that of kcp4j
 * @param goFec that of kcp-go
 * @param congestionControl that of kcp4j
 */
record SessionSettings(
    Delivery delivery,
    int window,
    int mtuBytes,
    CipherAlgorithm cipher,
    FecConfig fec,
    FecConfig goFec,
    CongestionControl.Factory congestionControl) {

  private static final int INTERVAL_MS = 10;
  private static final String PASSPHRASE = "passphrase of both peers";

  static final SessionSettings DEFAULT = stream(256, 1400);

  static SessionSettings stream(int window, int mtuBytes) {
    return plain(Delivery.STREAM, window, mtuBytes);
  }

  static SessionSettings messages(int window, int mtuBytes) {
    return plain(Delivery.MESSAGE, window, mtuBytes);
  }

  private static SessionSettings plain(Delivery delivery, int window, int mtuBytes) {
    return new SessionSettings(
        delivery,
        window,
        mtuBytes,
        CipherAlgorithm.NULL,
        FecConfig.NONE,
        FecConfig.NONE,
        KcpConfig.DEFAULT.congestionControl());
  }

  /** These settings through a cipher. */
  SessionSettings with(CipherAlgorithm cipher) {
    return new SessionSettings(delivery, window, mtuBytes, cipher, fec, goFec, congestionControl);
  }

  /** These settings with forward error correction, on both sides as given. */
  SessionSettings with(FecConfig fec, FecConfig goFec) {
    return new SessionSettings(delivery, window, mtuBytes, cipher, fec, goFec, congestionControl);
  }

  /** These settings with a congestion control of kcp4j. */
  SessionSettings with(CongestionControl.Factory congestionControl) {
    return new SessionSettings(delivery, window, mtuBytes, cipher, fec, goFec, congestionControl);
  }

  KcpConfig config() {
    return KcpConfig.builder()
        .delivery(delivery)
        .sendWindow(window)
        .receiveWindow(window)
        .mtuBytes(mtuBytes)
        .intervalMs(INTERVAL_MS)
        .congestionControl(congestionControl)
        .build();
  }

  KeyRing keys() {
    return KeyRing.of(PacketKey.ofPassphrase(cipher, PASSPHRASE));
  }

  /** The flags of the Go program for these settings, and {@code more}. */
  List<String> goFlags(String... more) {
    List<String> flags = new ArrayList<>(List.of(more));
    flags.add("--sndwnd=" + window);
    flags.add("--rcvwnd=" + window);
    flags.add("--mtu=" + mtuBytes);
    flags.add("--interval=" + INTERVAL_MS);
    if (cipher != CipherAlgorithm.NULL) {
      flags.add("--crypt=" + cipher.kcptunName());
      flags.add("--key=" + PASSPHRASE);
    }
    if (goFec.isEncoding()) {
      flags.add("--datashard=" + goFec.dataShards());
      flags.add("--parityshard=" + goFec.parityShards());
    }
    return flags;
  }
}
