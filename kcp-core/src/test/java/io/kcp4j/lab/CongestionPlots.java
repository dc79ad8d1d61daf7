package io.kcp4j.lab;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lab.CongestionRun.Start;
import io.kcp4j.lab.LineChart.Axis;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;

/**
 * Plots what congestion controls do, as SVG files in the directory that is the argument: rates and
 * queues over time, goodput against loss, and shares against the size of the queue. The windows of
 * KCP are 1024 segments.
 */
public final class CongestionPlots {

  private static final long SEED = 1;

  private static final long US_PER_S = 1_000_000;

  private static final double US_PER_MS = 1e3;

  private static final double PERCENT = 100;

  private static final double BITS_PER_MEGABIT = 1e6;

  private static final int MEGABITS = 20;

  private static final int RTT_US = 40_000;

  private static final int JITTER_US = 1_000;

  private static final String CAPTION =
      MEGABITS + " Mbit/s, 40 ms, up to 1 ms of jitter each way; the congestion lab, seed " + SEED;

  private static final String TCP = "CUBIC TCP";

  private static final List<String> CONTROLS = List.of("bbr", "reno", "none");

  private static final double[] LOSSES = {0.1, 0.2, 0.5, 1, 2, 5, 10};

  private static final double[] BUFFERS = {0.5, 1, 2, 5, 10};

  private CongestionPlots() {}

  public static void main(String[] args) throws IOException {
    if (args.length != 1) {
      System.err.println("usage: CongestionPlots DIRECTORY");
      System.exit(2);
    }
    Path directory = Path.of(args[0]);
    write(directory, "congestion-rate.svg", rates(), CAPTION + "; queue of 1 BDP.");
    write(directory, "congestion-queue.svg", queues(), CAPTION + "; queue of 10 BDP.");
    write(directory, "congestion-loss.svg", goodputAgainstLoss(), CAPTION + "; queue of 1 BDP.");
    write(
        directory, "congestion-share.svg", shareAgainstBuffer(), CAPTION + "; seconds 20 to 120.");
  }

  private static void write(Path directory, String name, LineChart chart, String caption)
      throws IOException {
    Files.writeString(directory.resolve(name), chart.svg(caption));
  }

  /** Two flows of BBR, of which one begins later; the rate in each half second. */
  private static LineChart rates() {
    int seconds = 60;
    List<Start> starts = List.of(start("bbr", 0), start("bbr", 15 * US_PER_S));
    CongestionResult result = CongestionRun.run(path(1, 0), starts, 1, seconds, SEED);
    LineChart chart =
        new LineChart(
            "Rates of two BBR flows, the second from second 15 on",
            Axis.linear("seconds", 0, 10, 20, 30, 40, 50, 60),
            Axis.linear("payload, Mbit/s", 0, 5, 10, 15, 20));
    int periods = 2 * seconds;
    double[] xs = IntStream.range(0, periods).mapToDouble(i -> (i + 0.5) / 2).toArray();
    for (int flow = 0; flow < starts.size(); flow++) {
      CongestionResult.Flow measured = result.flows().get(flow);
      double[] ys =
          IntStream.range(0, periods)
              .mapToLong(i -> i * US_PER_S / 2)
              .mapToDouble(us -> measured.bitsPerSecond(us, us + US_PER_S / 2) / BITS_PER_MEGABIT)
              .toArray();
      chart.line("BBR, flow " + (flow + 1), xs, ys);
    }
    return chart;
  }

  /** The queue of one flow, the mean of each half second. */
  private static LineChart queues() {
    int seconds = 30;
    LineChart chart =
        new LineChart(
            "How long datagrams wait in the queue beside no other flow",
            Axis.linear("seconds", 0, 5, 10, 15, 20, 25, 30),
            Axis.linear("ms", 0, 100, 200, 300, 400));
    int periodSteps = (int) (US_PER_S / 2 / CongestionRun.STEP_US);
    double[] xs = IntStream.range(0, 2 * seconds).mapToDouble(i -> (i + 0.5) / 2).toArray();
    for (String name : names()) {
      CongestionResult result =
          CongestionRun.run(path(10, 0), List.of(start(name, 0)), 1, seconds, SEED);
      double[] ys =
          IntStream.range(0, 2 * seconds)
              .mapToDouble(i -> result.waitsUs().mean(i * periodSteps, periodSteps) / US_PER_MS)
              .toArray();
      chart.line(label(name), xs, ys);
    }
    return chart;
  }

  private static LineChart goodputAgainstLoss() {
    LineChart chart =
        new LineChart(
            "Goodput against loss",
            Axis.logarithmic("lost behind the queue, %", LOSSES),
            Axis.linear("% of what the losses leave", 0, 20, 40, 60, 80, 100));
    for (String name : names()) {
      line(chart, label(name), LOSSES, percent -> goodputPercent(name, percent));
    }
    return chart;
  }

  private static double goodputPercent(String name, double lossPercent) {
    CongestionPath path = path(1, lossPercent / PERCENT);
    CongestionResult result = CongestionRun.run(path, List.of(start(name, 0)), 5, 35, SEED);
    return PERCENT * result.goodputShare(0);
  }

  private static LineChart shareAgainstBuffer() {
    LineChart chart =
        new LineChart(
            "The share of a KCP flow beside one of CUBIC TCP that was first",
            Axis.logarithmic("queue, BDP", BUFFERS),
            Axis.linear("% of the link", 0, 20, 40, 60, 80, 100));
    for (String control : CONTROLS) {
      line(chart, label(control), BUFFERS, bdp -> sharePercent(control, bdp));
    }
    return chart;
  }

  private static double sharePercent(String control, double bdp) {
    List<Start> starts = List.of(start(control, 2 * US_PER_S), start(TCP, 0));
    return PERCENT * CongestionRun.run(path(bdp, 0), starts, 20, 120, SEED).share(0);
  }

  private static void line(LineChart chart, String name, double[] xs, DoubleUnaryOperator y) {
    chart.line(name, xs, Arrays.stream(xs).parallel().map(y).toArray());
  }

  private static List<String> names() {
    return List.of("bbr", "reno", "none", TCP);
  }

  private static String label(String name) {
    return switch (name) {
      case "bbr" -> "BBR";
      case "reno" -> "C KCP's Reno";
      case "none" -> "none, window 1024";
      default -> name;
    };
  }

  private static CongestionPath path(double bdp, double loss) {
    long bitsPerSecond = (long) (MEGABITS * BITS_PER_MEGABIT);
    return CongestionPath.of(bitsPerSecond, RTT_US, JITTER_US, bdp, loss);
  }

  private static Start start(String name, long atUs) {
    if (name.equals(TCP)) {
      return new Start(name, atUs, CubicTcp::over);
    }
    KcpConfig config = Variant.turbo().congestionControl(CongestionControl.factory(name)).build();
    LabSide side = LabSide.of(config, FecConfig.NONE);
    return new Start(name, atUs, world -> KcpFlow.bulk(world, side, side, Long.MAX_VALUE));
  }
}
