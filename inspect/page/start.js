const views = [sentenceView, matrixView, headsView, sideView, stepsView, weightsView, causesView, tryView];
start();
