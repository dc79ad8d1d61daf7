package io.kcp4j.netty;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The dependencies between packages; see src/docs/architecture.md. */
@AnalyzeClasses(packages = "io.kcp4j", importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule coreKnowsNoChannels =
      noClasses()
          .that()
          .resideInAnyPackage("io.kcp4j", "io.kcp4j.internal..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.kcp4j.netty..", "io.netty.channel..", "io.netty.bootstrap..");

  @ArchTest
  static final ArchRule channelsKnowNoMonitoring =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("io.kcp4j.netty.metrics..", "io.micrometer..");

  @ArchTest
  static final ArchRule udpDoesNotDependOnChannels =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty.udp..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.kcp4j.netty", "io.kcp4j.netty.metrics..", "io.kcp4j.internal.session..");

  @ArchTest
  static final ArchRule onlyChannelsUseUdp =
      noClasses()
          .that()
          .resideOutsideOfPackages("io.kcp4j.netty", "io.kcp4j.netty.udp..")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("io.kcp4j.netty.udp..");

  @ArchTest
  static final ArchRule optionalTransportsStayInTwoClasses =
      noClasses()
          .that()
          .haveNameNotMatching("io\\.kcp4j\\.netty\\.udp\\.(UdpTransport|ReceiveBuffers)(\\$.*)?")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "io.netty.channel.epoll..",
              "io.netty.channel.uring..",
              "io.netty.channel.kqueue..",
              "io.netty.channel.unix..");

  @ArchTest
  static final ArchRule onlyTheLoopReadsTheClock =
      noClasses()
          .that()
          .resideInAPackage("io.kcp4j.netty..")
          .and()
          .doNotHaveSimpleName("EventLoopContext")
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis");
}
