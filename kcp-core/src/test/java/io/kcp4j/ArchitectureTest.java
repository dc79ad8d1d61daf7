package io.kcp4j;

import static com.tngtech.archunit.base.DescribedPredicate.anyElementThat;
import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.belongToAnyOf;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noMethods;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/** The dependencies between packages, and what the core never uses: I/O, clocks and threads. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  /** Times kernels once, on a thread of its own. */
  private static final String KERNEL_CHOICE = "io.kcp4j.internal.kernel";

  /** Thread-local scratch memory of kernels, without state between calls. */
  private static final String KERNEL_SCRATCH = "io.kcp4j.internal.fec.BitPlaneKernel$Scratch";

  /** Shared by tables on several threads; it neither starts threads nor blocks. */
  private static final String SESSION_DIRECTORY = "io.kcp4j.internal.session.SessionDirectory";

  /** Part of that. */
  private static final String AUTHENTICATED_SESSIONS =
      "io.kcp4j.internal.session.SessionDirectory$AuthenticatedSessions";

  /** Its keys expire in real time. */
  private static final String NONCE_SOURCE = "io.kcp4j.internal.crypto.NonceSource";

  /**
   * The packages that each one may use, beside {@code io.kcp4j}: those of the API by their last
   * name, those below {@code internal} likewise.
   */
  private static final Map<String, String> MAY_USE =
      Map.ofEntries(
          Map.entry("wire", ""),
          Map.entry("memory", ""),
          Map.entry("kernel", ""),
          Map.entry("scheduling", ""),
          Map.entry("buffer", "wire memory"),
          Map.entry("recovery", "wire buffer memory"),
          Map.entry("congestion", "recovery"),
          Map.entry("path", "wire crypto scheduling"),
          Map.entry("send", "wire buffer memory recovery congestion path"),
          Map.entry("receive", "wire buffer memory recovery"),
          Map.entry("arq", "wire buffer memory recovery congestion path send receive"),
          Map.entry("crypto", "kernel"),
          Map.entry("fec", "memory kernel"),
          Map.entry("lanes", "wire buffer memory arq scheduling"),
          Map.entry("trace", ""));

  @ArchTest
  static void packagesUseThoseBelowThem(JavaClasses classes) {
    MAY_USE.forEach(
        (name, used) -> {
          String[] allowed =
              Stream.concat(Stream.of(name), Stream.of(used.split(" ")))
                  .flatMap(part -> Stream.of("io.kcp4j." + part, "io.kcp4j.internal." + part))
                  .toArray(String[]::new);
          noClasses()
              .that()
              .resideInAnyPackage("io.kcp4j." + name, "io.kcp4j.internal." + name)
              .should()
              .dependOnClassesThat(
                  resideInAPackage("io.kcp4j..")
                      .and(not(resideInAnyPackage(allowed)))
                      .and(not(resideInAPackage("io.kcp4j"))))
              .check(classes);
        });
  }

  /** But for {@link CongestionControl}, which makes those of this library. */
  @ArchTest
  static final ArchRule valuesDependOnNothingElse =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j")
          .and()
          .areNotAssignableTo(CongestionControl.class)
          .should()
          .dependOnClassesThat(
              resideInAPackage("io.kcp4j..").and(not(resideInAPackage("io.kcp4j"))));

  /** Nothing below it knows the state machine. */
  @ArchTest
  static final ArchRule onlyWhatIsAboveTheArqNamesIt =
      noClasses()
          .that()
          .resideOutsideOfPackages(
              "io.kcp4j.internal.arq",
              "io.kcp4j.internal.lanes",
              "io.kcp4j.internal.admission",
              "io.kcp4j.internal.extension",
              "io.kcp4j.internal.session")
          .should()
          .dependOnClassesThat()
          .haveFullyQualifiedName("io.kcp4j.internal.arq.Kcp");

  @ArchTest
  static final ArchRule sessionsDoNotDependOnKernels =
      noClasses()
          .that()
          .resideInAnyPackage(
              "io.kcp4j.internal.admission",
              "io.kcp4j.internal.extension",
              "io.kcp4j.internal.session")
          .should()
          .dependOnClassesThat()
          .resideInAPackage(KERNEL_CHOICE);

  /** Methods for drivers, which are no API, are marked. */
  @ArchTest
  static final ArchRule signaturesOfTheApiHaveNoInternalTypes =
      noMethods()
          .that()
          .areDeclaredInClassesThat(
              resideInAnyPackage(
                  "io.kcp4j",
                  "io.kcp4j.crypto",
                  "io.kcp4j.fec",
                  "io.kcp4j.lanes",
                  "io.kcp4j.trace"))
          .and()
          .arePublic()
          .and()
          .areNotAnnotatedWith(Unstable.class)
          .should()
          .haveRawReturnType(resideInAPackage("io.kcp4j.internal.."))
          .orShould()
          .haveRawParameterTypes(anyElementThat(resideInAPackage("io.kcp4j.internal..")));

  /** Programs without the artifact can use all other ciphers. */
  @ArchTest
  static final ArchRule onlyOneClassNeedsBouncyCastle =
      noClasses()
          .that()
          .doNotHaveSimpleName("BouncyCastleBlockCipher")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("org.bouncycastle..");

  @ArchTest
  static final ArchRule noClocks =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(NONCE_SOURCE)
          .should()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .dependOnClassesThat()
          .resideInAnyPackage("java.time..");

  @ArchTest
  static final ArchRule noThreadsAndNoTimers =
      noClasses()
          .that()
          .resideOutsideOfPackage(KERNEL_CHOICE)
          .and()
          .doNotHaveFullyQualifiedName(KERNEL_SCRATCH)
          .and()
          .doNotHaveFullyQualifiedName(SESSION_DIRECTORY)
          .and()
          .doNotHaveFullyQualifiedName(AUTHENTICATED_SESSIONS)
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.util.concurrent", "java.util.concurrent.locks..")
                  .or(resideInAnyPackage("io.netty.util.concurrent.."))
                  .or(belongToAnyOf(Thread.class, ThreadLocal.class, java.util.Timer.class)));

  @ArchTest
  static final ArchRule noSynchronisation =
      noMethods().should().haveModifier(JavaModifier.SYNCHRONIZED);

  @ArchTest
  static final ArchRule onlyCryptoUsesRandomNumbers =
      noClasses()
          .that()
          .resideOutsideOfPackages("io.kcp4j.crypto", "io.kcp4j.internal.crypto")
          .should()
          .dependOnClassesThat(
              belongToAnyOf(Random.class, SplittableRandom.class)
                  .or(resideInAnyPackage("java.security..", "java.util.random..")))
          .orShould()
          .callMethod(Math.class, "random");

  @ArchTest
  static final ArchRule noLoggers =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("java.util.logging..", "org.slf4j..", "io.netty.util.internal..")
          .orShould()
          .accessField(System.class, "out")
          .orShould()
          .accessField(System.class, "err");

  @ArchTest
  static final ArchRule noSockets =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideInAnyPackage("java.net..", "java.nio.channels..", "java.io..")
                  .and(
                      not(
                          belongToAnyOf(
                              InetSocketAddress.class,
                              InetAddress.class,
                              Inet4Address.class,
                              UnknownHostException.class))));

  @ArchTest
  static final ArchRule arqUsesNoAddresses =
      noClasses()
          .that()
          .resideInAnyPackage(
              "io.kcp4j.internal.arq",
              "io.kcp4j.internal.buffer",
              "io.kcp4j.internal.congestion",
              "io.kcp4j.internal.receive",
              "io.kcp4j.internal.recovery",
              "io.kcp4j.internal.send",
              "io.kcp4j.internal.wire")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("java.net..");

  @ArchTest
  static final ArchRule noChannels =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.netty.channel..", "io.netty.bootstrap..", "io.netty.handler..");
}
