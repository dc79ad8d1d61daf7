package io.kcp4j.examples;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import io.kcp4j.fec.FecConfig;

/** The settings that the demo compares. */
enum GameVariant {
  /**
   * Long timeouts, fast retransmit after three duplicate acknowledgements, which are sent at once,
   * early retransmit (RFC 5827), and Reno.
   */
  LIKE_TCP("settings like TCP's", "like TCP's") {
    @Override
    BootstrapSettings of(BootstrapSettings settings) {
      KcpConfig.Builder config =
          settings.config().toBuilder()
              .mode(KcpMode.NORMAL)
              .lossDetection(LossDetection.FAST_RETRANSMIT)
              .fastRetransmit(3)
              .ackNoDelay(true)
              .congestionControl(CongestionControl.RENO);
      return settings.with(config.build(), FecConfig.NONE);
    }
  },

  /**
   * Losses are counted as in C KCP and kcp-go, and there is no congestion control. Latencies are
   * closest if ACKs do not wait.
   */
  LIKE_KCP_GO("settings like kcp-go's", "like kcp-go's") {
    @Override
    BootstrapSettings of(BootstrapSettings settings) {
      KcpConfig.Builder config =
          settings.config().toBuilder()
              .lossDetection(LossDetection.FAST_RETRANSMIT)
              .ackNoDelay(true)
              .congestionControl(CongestionControl.NONE);
      return settings.with(config.build(), FecConfig.NONE);
    }
  },

  /** The settings of the command line, without FEC. */
  PLAIN("kcp4j", "kcp4j") {
    @Override
    BootstrapSettings of(BootstrapSettings settings) {
      return settings.with(settings.config(), FecConfig.NONE);
    }
  },

  /** The same with FEC, whose groups end with each tick. */
  FEC("kcp4j with FEC", "with FEC") {
    @Override
    BootstrapSettings of(BootstrapSettings settings) {
      FecConfig fec = settings.fec().toBuilder().flushAligned(true).build();
      return settings.with(settings.config(), fec);
    }
  };

  private final String title;
  private final String shortTitle;

  GameVariant(String title, String shortTitle) {
    this.title = title;
    this.shortTitle = shortTitle;
  }

  /** What the table calls it. */
  String title() {
    return title;
  }

  /** What the progress calls it. */
  String shortTitle() {
    return shortTitle;
  }

  /** The settings of this variant, given those of the command line. */
  abstract BootstrapSettings of(BootstrapSettings settings);
}
